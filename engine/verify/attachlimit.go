package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// attachLimits returns how many volumes each driver attaches to a node, as far as its CSINode says.
func attachLimits(info *storagev1.CSINode) map[string]int {
	limits := make(map[string]int)
	for _, d := range info.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			limits[d.Name] = int(*d.Allocatable.Count)
		}
	}
	return limits
}

// attachLimit returns how many volumes of the driver an existing node attaches, and false if that is not known. A driver that has
// not reported a limit yet is taken to attach what it attaches to new nodes of the type it, which may be nil.
func (vs *volumes) attachLimit(n *model.Node, it *model.InstanceType, driver string) (int, bool) {
	if n.Object != nil {
		if info, ok := vs.snapshot.CSINode(n.Object.Name); ok {
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

// attachLimitOfType returns how many volumes of the driver a new node of the type attaches, and false if that is not known. The
// lowest limit that existing nodes of the type report takes precedence over the type's own.
func (vs *volumes) attachLimitOfType(t *model.InstanceType, driver string) (int, bool) {
	if vs.reported == nil {
		vs.reported = make(map[string]map[string]int)
		for _, n := range vs.snapshot.Nodes() {
			if n.Object == nil {
				continue
			}
			info, ok := vs.snapshot.CSINode(n.Object.Name)
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

// attachesAll checks that each type can attach the volumes of the pods beside those of the DaemonSets.
func (c *checker) attachesAll(node string, list *optionList, l *load) {
	own := make(volumeSet)
	last := make(map[string]string) // by driver, the pod that has the last volume
	var drivers []string
	for _, d := range l.pods {
		for _, a := range d.volumes {
			if !own.add(a) {
				continue
			}
			if last[a.driver] == "" {
				drivers = append(drivers, a.driver)
			}
			last[a.driver] = d.key
		}
	}
	for _, driver := range drivers {
		for i, t := range list.types {
			limit, known := c.volumes.attachLimitOfType(t, driver)
			if !known {
				continue
			}
			for _, daemons := range list.options[i].daemons {
				if n := len(own[driver]) + own.missing(daemons, driver); n > limit {
					c.add(Violation{Rule: RuleVolumes, Node: node, Type: t.Name, Pod: last[driver], Detail: fmt.Sprintf(
						"driver %s attaches %d volumes at most, its pods and daemons have %d", driver, limit, n)})
				}
			}
		}
	}
}

// attach checks that pods on an existing node have volumes that can be attached beside those of running pods and of DaemonSet pods
// that the node does not run yet.
func (c *checker) attach(n *model.Node, l *load, running []*corev1.Pod, missing []*demand) {
	if !slices.ContainsFunc(l.pods, func(d *demand) bool { return len(d.volumes) > 0 }) {
		return
	}
	it := c.catalog.typesOf(poolOf(n))[n.Labels[corev1.LabelInstanceTypeStable]]
	used := make(volumeSet)
	for _, p := range running {
		for _, a := range c.volumes.attachmentsOf(p) {
			if a.problem == "" {
				used.add(a)
			}
		}
	}
	for _, d := range missing {
		for _, a := range d.volumes {
			used.add(a)
		}
	}
	for _, d := range l.pods {
		for _, a := range d.volumes {
			limit, known := c.volumes.attachLimit(n, it, a.driver)
			if known && used.add(a) && len(used[a.driver]) > limit {
				c.add(Violation{Rule: RuleVolumes, Node: n.Name, Pod: d.key, Detail: fmt.Sprintf(
					"driver %s attaches %d volumes at most, this is one more", a.driver, limit)})
			}
		}
	}
}

// A volumeSet is volumes by driver and handle.
type volumeSet map[string]map[string]bool

// add adds the volume and reports whether it is new. A volume that no driver's limit counts is never added.
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

// missing returns how many volumes of the driver d has that are not in the set.
func (s volumeSet) missing(d *demand, driver string) int {
	seen := make(map[string]bool)
	for _, a := range d.volumes {
		if a.driver == driver && !s[driver][a.handle] {
			seen[a.handle] = true
		}
	}
	return len(seen)
}
