package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/model"
)

// attachPrefix begins the name of a dimension that counts attached volumes of a CSI driver.
const attachPrefix = "attachable-volumes-csi-"

// ManyVolumes stands for the attach limit of a type for which none is known. It is more than the pods of a node use.
const ManyVolumes = 1 << 12

// Volumes knows which volumes of pending pods count against attach limits of nodes.
//
// A volume of one pod is part of that pod's demand. A volume that several pods or a DaemonSet use is a shared demand: a node
// attaches it once, however many of its pods use it.
type Volumes struct {
	snapshot   *model.Snapshot
	dimensions *Dimensions
	at         map[string]int            // dimension by driver
	learned    map[string]map[string]int // attach limits that live nodes report, by instance type and driver
	shared     map[VolumeKey]SharedVolume
}

// A VolumeKey names a volume.
type VolumeKey struct{ Driver, Key string }

// A SharedVolume is a volume that several pods or a DaemonSet use.
type SharedVolume struct {
	Dimension, Number int
	// Part is the share of one attachment that each of its pods counts for in the linear relaxation: no node attaches less
	// for those pods that it has. It is zero if a DaemonSet brings the volume to some nodes.
	Part float64
}

// SharedVolumes are shared volumes, each once, in rising order.
type SharedVolumes []SharedVolume

// NewVolumes finds the drivers that attach volumes of pods and of which some node or type has an attach limit, and adds a
// dimension to d for each.
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
	v.learned = s.SeenAttachLimits()
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

// limitedDrivers returns the drivers for which a live node or an instance type has an attach limit.
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

// findShared finds the volumes that several pods or a DaemonSet use. users is the number of pods by volume.
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
			s := SharedVolume{Dimension: dimension, Number: len(v.shared), Part: 1 / float64(users[key])}
			if daemons[key] {
				s.Part = 0
			}
			v.shared[key] = s
		}
	}
}

// Limited reports whether some dimension counts volumes.
func (v *Volumes) Limited() bool { return v.dimensions.Plain < v.dimensions.Len() }

// Of returns the volumes of the pod that a driver attaches, each once. It returns none for a pod whose volumes cannot be
// resolved; such a pod is refused for that.
func (v *Volumes) Of(pod *model.Pod) []VolumeKey {
	if len(pod.Object.Spec.Volumes) == 0 {
		return nil
	}
	volumes, _ := v.snapshot.VolumesOf(pod)
	var out []VolumeKey
	for _, x := range volumes {
		if k := (VolumeKey{x.Driver, x.Key}); x.Driver != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// Driver returns the driver whose volumes dimension i counts; false for a resource.
func (v *Volumes) Driver(i int) (string, bool) {
	if i < v.dimensions.Plain {
		return "", false
	}
	return string(v.dimensions.Names[i][len(attachPrefix):]), true
}

// Demand returns what the pod requests, by dimension, and the shared volumes that it uses.
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

// AttachableBy sets in room how many volumes a new node of type t can attach beside those of the DaemonSets, and returns the
// shared volumes that the DaemonSets bring.
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
	brought = slices.DeleteFunc(brought, func(x SharedVolume) bool { return room[x.Dimension] < 0 }) // DaemonSets alone exceed the limit
	for i := v.dimensions.Plain; i < v.dimensions.Len(); i++ {
		room[i] = max(room[i], 0)
	}
	slices.SortFunc(brought, compareShared)
	return brought
}

// Limit returns how many volumes of the driver a node of the type can attach: as live nodes of the type report, else as the
// provider says.
func (v *Volumes) Limit(t *model.InstanceType, driver string) (n int, known bool) {
	if n, known = v.learned[t.Name][driver]; !known {
		n, known = t.Attach[driver]
	}
	return n, known
}

// Drivers calls f for each driver with a dimension.
func (v *Volumes) Drivers(f func(driver string, dimension int)) {
	for driver, i := range v.at {
		f(driver, i)
	}
}

// Keys calls f for each shared volume.
func (v *Volumes) Keys(f func(VolumeKey, SharedVolume)) {
	for key, x := range v.shared {
		f(key, x)
	}
}

// SharedDemands returns the shared volumes as the packing solver sees them, by number.
func (v *Volumes) SharedDemands() []binpack.SharedDemand {
	out := make([]binpack.SharedDemand, len(v.shared))
	for _, x := range v.shared {
		out[x.Number] = binpack.SharedDemand{Dimension: x.Dimension, Part: x.Part}
	}
	return out
}

// TooManyVolumes is the verdict on pods with more volumes of a driver than any type can attach.
func TooManyVolumes(driver string, by int64) model.Verdict {
	return model.Verdict{Rule: model.RuleVolume, Subject: fmt.Sprintf(
		"no instance type attaches so many volumes of driver %s: %d fewer would do", driver, by)}
}

func compareShared(a, b SharedVolume) int {
	return cmp.Or(cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Number, b.Number))
}

// With returns the volumes of both.
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

// Has reports whether x is one of s.
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

// TakeFrom takes one attachment for each volume out of room, n times.
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

// fits reports whether room holds the volumes beside demand.
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
