package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/engine/volume"
)

// attachPrefix is the prefix of the name of a dimension of attached volumes. The name of the CSI driver follows.
const attachPrefix = "attachable-volumes-csi-"

// ManyVolumes is used as the attach limit of a type whose limit is not known. The pods of a node never use so many
// volumes.
const ManyVolumes = 1 << 12

// Volumes determines what the volumes of pending pods use of the attach limits of nodes.
//
// A volume that only one pod uses is part of that pod's demand. A volume that several pods or a DaemonSet use is a
// shared demand: a node attaches it once, however many of its pods use it.
type Volumes struct {
	snapshot   *model.Snapshot
	dimensions *Dimensions
	at         map[string]int             // at[driver] is the dimension of the driver's volumes
	learned    map[string]map[string]int  // learned[type][driver] is the attach limit that existing nodes of the type report
	shared     map[VolumeKey]SharedVolume // the shared volumes, by driver and handle
}

// A VolumeKey identifies a volume by its CSI driver and its handle.
type VolumeKey struct{ Driver, Key string }

// A SharedVolume is a volume that several pending pods or a DaemonSet use. Number is its index in SharedDemands.
type SharedVolume struct {
	Dimension, Number int
	// Share is the fraction of an attachment that each pod with the volume demands in the linear relaxation. It is 1
	// divided by the number of these pods. It is 0 if a DaemonSet uses the volume as well.
	Share float64
}

// SharedVolumes is a list of shared volumes without duplicates, in order of Dimension, then Number.
type SharedVolumes []SharedVolume

// NewVolumes returns the Volumes of the pods. It adds to d a dimension for each CSI driver of the pods' volumes for
// which some node or instance type has an attach limit.
func NewVolumes(s *model.Snapshot, d *Dimensions, pods []*model.Pod) *Volumes {
	v := &Volumes{snapshot: s, dimensions: d}
	users, drivers := map[VolumeKey]int{}, map[string]bool{}
	for _, pod := range pods {
		for _, key := range v.Of(pod) {
			users[key]++
			drivers[key.Driver] = true
		}
	}
	if len(drivers) == 0 {
		return v
	}
	v.learned = volume.SeenAttachLimits(s)
	limited := v.limitedDrivers()
	v.at = map[string]int{}
	for _, driver := range slices.Sorted(maps.Keys(drivers)) {
		if limited[driver] {
			v.at[driver] = d.Len()
			d.Names = append(d.Names, corev1.ResourceName(attachPrefix+driver))
			d.Units = append(d.Units, 1)
		}
	}
	v.findShared(pods, users)
	return v
}

// limitedDrivers returns the drivers with an attach limit on an existing node or on an instance type.
func (v *Volumes) limitedDrivers() map[string]bool {
	limited := map[string]bool{}
	for _, byDriver := range v.learned {
		for driver := range byDriver {
			limited[driver] = true
		}
	}
	for _, pool := range v.snapshot.Pools() {
		for _, t := range v.snapshot.Types(pool.Name) {
			for driver := range t.Attach {
				limited[driver] = true
			}
		}
	}
	return limited
}

// findShared sets shared: the volumes that several pods or a DaemonSet use. users[key] is how many pods use a volume.
func (v *Volumes) findShared(pods []*model.Pod, users map[VolumeKey]int) {
	daemons := map[VolumeKey]bool{}
	for _, d := range v.snapshot.Daemons() {
		for _, key := range v.Of(d.Pod) {
			daemons[key] = true
		}
	}
	v.shared = map[VolumeKey]SharedVolume{}
	for _, pod := range pods {
		for _, key := range v.Of(pod) {
			dimension, limited := v.at[key.Driver]
			if _, known := v.shared[key]; known || !limited || users[key] == 1 && !daemons[key] {
				continue
			}
			s := SharedVolume{Dimension: dimension, Number: len(v.shared), Share: 1 / float64(users[key])}
			if daemons[key] {
				s.Share = 0
			}
			v.shared[key] = s
		}
	}
}

// Limited reports whether some driver has an attach limit, and so a dimension.
func (v *Volumes) Limited() bool { return v.dimensions.Plain < v.dimensions.Len() }

// Of returns the volumes of the pod that a CSI driver attaches, without duplicates. If they cannot be determined, it
// returns none: package compile refuses such a pod.
func (v *Volumes) Of(pod *model.Pod) []VolumeKey {
	if len(pod.Object.Spec.Volumes) == 0 {
		return nil
	}
	volumes, _ := volume.Of(v.snapshot, pod)
	var out []VolumeKey
	for _, x := range volumes {
		if k := (VolumeKey{x.Driver, x.Key}); x.Driver != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// Driver returns the CSI driver of volume dimension i, and false if i is a resource.
func (v *Volumes) Driver(i int) (string, bool) {
	if i < v.dimensions.Plain {
		return "", false
	}
	return string(v.dimensions.Names[i][len(attachPrefix):]), true
}

// Demand returns the demand of the pod by dimension without shared volumes, and its shared volumes.
func (v *Volumes) Demand(pod *model.Pod) ([]int64, SharedVolumes) {
	amount := v.dimensions.Vector(pod.Requests)
	if !v.Limited() {
		return amount, nil
	}
	var shared SharedVolumes
	for _, key := range v.Of(pod) {
		if x, ok := v.shared[key]; ok {
			shared = append(shared, x)
		} else if dimension, limited := v.at[key.Driver]; limited {
			amount[dimension]++
		}
	}
	slices.SortFunc(shared, compareShared)
	return amount, shared
}

// AttachableBy sets the volume dimensions of room for a new node of type t: how many volumes it can attach besides
// those of the DaemonSets. brought are the shared volumes that the DaemonSets attach.
func (v *Volumes) AttachableBy(t *model.InstanceType, daemons []*model.Daemon, room []int64) (brought SharedVolumes) {
	for driver, i := range v.at {
		room[i] = ManyVolumes
		if n, known := v.Limit(t, driver); known {
			room[i] = int64(n)
		}
	}
	var seen []VolumeKey
	for _, d := range daemons {
		for _, key := range v.Of(d.Pod) {
			dimension, limited := v.at[key.Driver]
			if !limited || slices.Contains(seen, key) {
				continue
			}
			seen = append(seen, key)
			room[dimension]--
			if x, ok := v.shared[key]; ok {
				brought = append(brought, x)
			}
		}
	}
	// If the volumes of the DaemonSets alone exceed the limit, it is not known which of them are attached.
	brought = slices.DeleteFunc(brought, func(x SharedVolume) bool { return room[x.Dimension] < 0 })
	for i := v.dimensions.Plain; i < v.dimensions.Len(); i++ {
		room[i] = max(room[i], 0)
	}
	slices.SortFunc(brought, compareShared)
	return brought
}

// Limit returns how many volumes of the driver a node of the type can attach, and whether that is known. A limit that
// existing nodes of the type report takes precedence over that of the instance type.
func (v *Volumes) Limit(t *model.InstanceType, driver string) (n int, known bool) {
	if n, known = v.learned[t.Name][driver]; !known {
		n, known = t.Attach[driver]
	}
	return n, known
}

// Drivers calls f for each CSI driver that has a dimension.
func (v *Volumes) Drivers(f func(driver string, dimension int)) {
	for driver, i := range v.at {
		f(driver, i)
	}
}

// Keys calls f for each shared volume with its key.
func (v *Volumes) Keys(f func(VolumeKey, SharedVolume)) {
	for key, x := range v.shared {
		f(key, x)
	}
}

// SharedDemands returns the shared volumes as shared demands of package binpack, by Number.
func (v *Volumes) SharedDemands() []binpack.SharedDemand {
	out := make([]binpack.SharedDemand, len(v.shared))
	for _, x := range v.shared {
		out[x.Number] = binpack.SharedDemand{Dimension: x.Dimension, Share: x.Share}
	}
	return out
}

// TooManyVolumes returns the verdict on pods with too many volumes of a driver for any instance type. by is the excess.
func TooManyVolumes(driver string, by int64) model.Verdict {
	return model.Verdict{Rule: model.RuleVolume,
		Subject: fmt.Sprintf("needs %s of CSI driver %s than any instance type can attach", units.Counted(int(by), "more volume"), driver),
		Hint:    "use fewer volumes in the pod"}
}

func compareShared(a, b SharedVolume) int {
	return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Number, b.Number))
}

// With returns the union of s and o.
func (s SharedVolumes) With(o SharedVolumes) SharedVolumes {
	switch {
	case len(o) == 0:
		return s
	case len(s) == 0:
		return o
	}
	out := slices.Concat(s, o)
	slices.SortFunc(out, compareShared)
	return slices.Compact(out)
}

// Has reports whether x is in s.
func (s SharedVolumes) Has(x SharedVolume) bool {
	_, ok := slices.BinarySearchFunc(s, x, compareShared)
	return ok
}

// Without returns the volumes of s that are not in o.
func (s SharedVolumes) Without(o SharedVolumes) SharedVolumes {
	if len(s) == 0 || len(o) == 0 {
		return s
	}
	return slices.DeleteFunc(slices.Clone(s), o.Has)
}

// TakeFrom subtracts n attachments for each volume of s from room, which is by dimension.
func (s SharedVolumes) TakeFrom(room []int64, n int64) {
	for _, x := range s {
		room[x.Dimension] -= n
	}
}

// Numbers returns the numbers of the volumes, rising.
func (s SharedVolumes) Numbers() []int {
	if len(s) == 0 {
		return nil
	}
	out := make([]int, len(s))
	for i, x := range s {
		out[i] = x.Number
	}
	slices.Sort(out)
	return out
}

// fits reports whether room holds the demand and one attachment for each volume of s. Both vectors are by dimension.
func (s SharedVolumes) fits(demand, room []int64) bool {
	n := int64(0)
	for i, x := range s {
		if i > 0 && x.Dimension != s[i-1].Dimension {
			n = 0
		}
		if n++; demand[x.Dimension]+n > room[x.Dimension] {
			return false
		}
	}
	return true
}
