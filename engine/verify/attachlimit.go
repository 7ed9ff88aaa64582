package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// attachLimits returns the attach limit of each CSI driver that the CSINode reports.
func attachLimits(info *storagev1.CSINode) map[string]int {
	limits := make(map[string]int)
	for _, d := range info.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			limits[d.Name] = int(*d.Allocatable.Count)
		}
	}
	return limits
}

// attachLimit returns how many volumes of the driver an existing node can attach, and false if that is unknown. If
// the node reports no limit, the limit of new nodes of its instance type applies. The type is nil if it is unknown.
func (vs *volumes) attachLimit(n *model.Node, it *model.InstanceType, driver string) (int, bool) {
	if n.Object != nil {
		if info, ok := vs.snapshot.CSINodes.Get(n.Object.Name); ok {
			if limit, ok := attachLimits(info)[driver]; ok {
				return limit, true
			}
		}
	}
	if it == nil {
		return 0, false
	}
	return vs.attachLimitOfType(it, driver)
}

// attachLimitOfType returns how many volumes of the driver a new node of type t can attach, and false if that is
// unknown. The lowest limit that existing nodes of the type report takes precedence over the limit of t.
func (vs *volumes) attachLimitOfType(t *model.InstanceType, driver string) (int, bool) {
	if vs.reported == nil {
		vs.reported = make(map[string]map[string]int)
		for _, n := range vs.snapshot.Nodes() {
			if n.Object == nil {
				continue
			}
			info, ok := vs.snapshot.CSINodes.Get(n.Object.Name)
			if !ok {
				continue
			}
			name := n.Labels[corev1.LabelInstanceTypeStable]
			if vs.reported[name] == nil {
				vs.reported[name] = make(map[string]int)
			}
			for driver, limit := range attachLimits(info) {
				if lowest, known := vs.reported[name][driver]; !known || limit < lowest {
					vs.reported[name][driver] = limit
				}
			}
		}
	}
	if limit, ok := vs.reported[t.Name][driver]; ok {
		return limit, true
	}
	limit, ok := t.Attach[driver]
	return limit, ok
}

// attachToNew checks that each option can attach the volumes of the pods and of the DaemonSets.
func (c *checker) attachToNew(node string, list *optionList, l *load) {
	if !l.hasVolumes() {
		return
	}
	for i, it := range list.types {
		limit := func(driver string) (int, bool) { return c.volumes.attachLimitOfType(it, driver) }
		for _, daemons := range list.options[i].daemons {
			used := make(volumeSet)
			used.addAll(daemons.volumes)
			c.attach(Violation{Node: node, Type: it.Name}, l, used, limit)
		}
	}
}

// attachToExisting checks that the node can attach the volumes of l in addition to those of the running pods. It also
// counts the volumes of missing, which are DaemonSet pods that the node does not run yet.
func (c *checker) attachToExisting(n *model.Node, l *load, running []*corev1.Pod, missing []*demand) {
	if !l.hasVolumes() {
		return
	}
	used := make(volumeSet)
	for _, p := range running {
		used.addAll(c.volumes.attachmentsOf(p))
	}
	for _, d := range missing {
		used.addAll(d.volumes)
	}
	it := c.catalog.typesOf(poolOf(n))[n.Labels[corev1.LabelInstanceTypeStable]]
	c.attach(Violation{Node: n.Name}, l, used, func(driver string) (int, bool) { return c.volumes.attachLimit(n, it, driver) })
}

// attach adds to used the volumes of the pods in l, which a plan places on one node. For each volume that exceeds the limit
// of its driver, it adds a Violation with Node and Type of the parameter place.
func (c *checker) attach(place Violation, l *load, used volumeSet, limitOf func(driver string) (int, bool)) {
	for _, d := range l.pods {
		for _, a := range d.volumes {
			if !used.add(a) {
				continue
			}
			if limit, known := limitOf(a.driver); known && len(used[a.driver]) > limit {
				place.Rule, place.Pod = RuleVolumes, d.key
				place.Detail = fmt.Sprintf("driver %s attaches %d volumes at most, this is number %d", a.driver, limit, len(used[a.driver]))
				c.add(place)
			}
		}
	}
}

func (l *load) hasVolumes() bool {
	return slices.ContainsFunc(l.pods, func(d *demand) bool { return len(d.volumes) > 0 })
}

// A volumeSet is a set of volumes, by driver and handle.
type volumeSet map[string]map[string]bool

// add adds the volume and reports whether it is new. Volumes without a CSI driver are ignored.
func (s volumeSet) add(a *attachment) bool {
	if a.driver == "" || s[a.driver][a.handle] {
		return false
	}
	if s[a.driver] == nil {
		s[a.driver] = make(map[string]bool)
	}
	s[a.driver][a.handle] = true
	return true
}

// addAll adds the volumes that have no problem.
func (s volumeSet) addAll(volumes []*attachment) {
	for _, a := range volumes {
		if a.problem == "" {
			s.add(a)
		}
	}
}
