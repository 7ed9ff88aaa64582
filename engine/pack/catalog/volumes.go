package catalog

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/engine/volume"
)

// attachPrefix is the prefix of the name of a dimension of attached volumes. The name of the CSI driver follows.
const attachPrefix = "attachable-volumes-csi-"

// ManyVolumes stands for the number of volumes that fit if no limit is known. It is assumed that the pods of a node never
// use so many.
const ManyVolumes = 1 << 12

// Volumes determines what the volumes of pods to plan use of the attach limits of nodes. On a new node, a volume counts for
// each pod that uses it, although the node attaches it only once. So a new node may get fewer pods than it could hold, but
// never too many volumes.
type Volumes struct {
	snapshot   *model.Snapshot
	dimensions *Dimensions
	At         map[string]int            // At[driver] is the dimension of the driver's volumes
	learned    map[string]map[string]int // learned[type][driver] is the attach limit that existing nodes of the type report
}

// A VolumeKey identifies a volume, see volume.Volume.
type VolumeKey struct{ Driver, Key string }

// NewVolumes returns the Volumes of the pods. It adds to d a dimension for each CSI driver of the pods' volumes for
// which some node or instance type has an attach limit.
func NewVolumes(s *model.Snapshot, d *Dimensions, pods []*model.Pod) *Volumes {
	v := &Volumes{snapshot: s, dimensions: d}
	drivers := map[string]bool{}
	for _, pod := range pods {
		for _, key := range v.Of(pod) {
			drivers[key.Driver] = true
		}
	}
	if len(drivers) == 0 {
		return v
	}
	v.learned = volume.SeenAttachLimits(s)
	v.At = map[string]int{}
	for _, driver := range slices.Sorted(maps.Keys(drivers)) {
		if v.isLimited(driver) {
			v.At[driver] = d.Len()
			d.Names = append(d.Names, corev1.ResourceName(attachPrefix+driver))
			d.Units = append(d.Units, 1)
		}
	}
	return v
}

// isLimited reports whether the driver has an attach limit on an existing node or on an instance type.
func (v *Volumes) isLimited(driver string) bool {
	for _, limits := range v.learned {
		if _, known := limits[driver]; known {
			return true
		}
	}
	isKnown := func(t *model.InstanceType) bool { _, known := t.Attach[driver]; return known }
	return slices.ContainsFunc(v.snapshot.Pools(), func(p *model.Pool) bool {
		return slices.ContainsFunc(v.snapshot.Types(p.Name), isKnown)
	})
}

// Limited reports whether some driver has an attach limit, and so a dimension.
func (v *Volumes) Limited() bool { return v.dimensions.Plain < v.dimensions.Len() }

// Of returns the volumes of the pod that a CSI driver attaches, without duplicates. If they cannot be determined, it
// returns none. If the pod is to be planned, package compile refuses it then.
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

// Demand returns the demand of the pod by dimension.
func (v *Volumes) Demand(pod *model.Pod) []int64 {
	amount := v.dimensions.Vector(pod.Requests)
	if v.Limited() {
		for _, key := range v.Of(pod) {
			if dimension, limited := v.At[key.Driver]; limited {
				amount[dimension]++
			}
		}
	}
	return amount
}

// Room returns what the DaemonSet pods leave of a new node of type t, by dimension. It can be negative for resources. For
// volumes it is how many more the node can attach, at least 0.
func (v *Volumes) Room(t *model.InstanceType, daemons *Overhead) []int64 {
	room := v.dimensions.Vector(t.Allocatable)
	vector.Subtract(room, v.dimensions.Vector(daemons.Requests), 1)
	if !v.Limited() {
		return room
	}
	for driver, i := range v.At {
		room[i] = ManyVolumes
		if n, known := v.Limit(t, driver); known {
			room[i] = int64(n)
		}
	}
	seen := map[VolumeKey]bool{}
	for _, d := range daemons.WithVolumes {
		for _, key := range v.Of(d.Pod) {
			if dimension, limited := v.At[key.Driver]; limited && !seen[key] {
				seen[key] = true
				room[dimension] = max(room[dimension]-1, 0)
			}
		}
	}
	return room
}

// Limit returns how many volumes of the driver a node of the type can attach, and whether that is known. A limit that
// existing nodes of the type report takes precedence over that of the instance type.
func (v *Volumes) Limit(t *model.InstanceType, driver string) (n int, known bool) {
	if n, known = v.learned[t.Name][driver]; !known {
		n, known = t.Attach[driver]
	}
	return n, known
}

// exceeded returns the verdict on pods whose demand exceeds every instance type in dimension i. by is the excess.
func (v *Volumes) exceeded(i int, by int64) model.Verdict {
	name := v.dimensions.Names[i]
	if i < v.dimensions.Plain {
		return model.Verdict{Rule: model.RuleResources, Resource: name, By: by}
	}
	return model.Verdict{Rule: model.RuleVolume,
		Subject: fmt.Sprintf("needs %s of CSI driver %s than any instance type can attach", units.Counted(int(by), "more volume"), name[len(attachPrefix):]),
		Hint:    "use fewer volumes in the pod"}
}
