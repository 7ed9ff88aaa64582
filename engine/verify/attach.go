package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// told returns the limits that a node's drivers have told, by driver.
func told(info *storagev1.CSINode) map[string]int {
	limit := make(map[string]int)
	for _, d := range info.Spec.Drivers {
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			limit[d.Name] = int(*d.Allocatable.Count)
		}
	}
	return limit
}

// mostOn returns the function that tells how many volumes each driver attaches to a node. A driver that has told nothing yet
// is taken to attach what it attaches to others of the type.
func (c *checker) mostOn(n *model.Node) func(driver string) (int, bool) {
	var limits map[string]int
	if n.Object != nil {
		if info, ok := c.snapshot.CSINode(n.Object.Name); ok {
			limits = told(info)
		}
	}
	kind := c.typesOf(poolOf(n))[n.Labels[corev1.LabelInstanceTypeStable]]
	return func(driver string) (int, bool) {
		if most, ok := limits[driver]; ok || kind == nil {
			return most, ok
		}
		return c.attachedAtMost(kind, driver)
	}
}

// attachedAtMost returns how many volumes of the driver a new node of the type is taken to attach, and false if nobody
// knows. What nodes of the type say, the least of it, goes before what the type says.
func (c *checker) attachedAtMost(t *model.InstanceType, driver string) (int, bool) {
	if c.seenLimits == nil {
		c.seenLimits = make(map[string]map[string]int)
		for _, n := range c.snapshot.Nodes() {
			if n.Object == nil {
				continue
			}
			info, ok := c.snapshot.CSINode(n.Object.Name)
			if !ok {
				continue
			}
			kind := n.Labels[corev1.LabelInstanceTypeStable]
			if c.seenLimits[kind] == nil {
				c.seenLimits[kind] = make(map[string]int)
			}
			for driver, most := range told(info) {
				if least, again := c.seenLimits[kind][driver]; !again || most < least {
					c.seenLimits[kind][driver] = most
				}
			}
		}
	}
	if most, ok := c.seenLimits[t.Name][driver]; ok {
		return most, true
	}
	most, ok := t.Attach[driver]
	return most, ok
}

// attachesAll checks that whatever type the node becomes can attach the volumes of its pods.
func (c *checker) attachesAll(node string, types []*model.InstanceType, l *load) {
	type volume struct{ driver, handle string }
	seen := make(map[volume]bool)
	count := make(map[string]int)
	last := make(map[string]string) // by driver, the pod that has the last volume
	var drivers []string
	for _, d := range l.pods {
		for _, a := range d.volumes {
			v := volume{a.driver, a.handle}
			if a.driver == "" || seen[v] {
				continue
			}
			seen[v] = true
			if !slices.Contains(drivers, a.driver) {
				drivers = append(drivers, a.driver)
			}
			count[a.driver]++
			last[a.driver] = d.key
		}
	}
	for _, driver := range drivers {
		for _, t := range types {
			if most, known := c.attachedAtMost(t, driver); known && count[driver] > most {
				c.add(Violation{Rule: RuleVolumes, Node: node, Type: t.Name, Pod: last[driver], Detail: fmt.Sprintf(
					"driver %s attaches %d volumes at most, its pods have %d", driver, most, count[driver])})
			}
		}
	}
}
