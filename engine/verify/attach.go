package verify

import (
	"fmt"

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

// attachesAll checks that whatever type the node becomes can attach the volumes of its pods, beside those of the daemons.
func (c *checker) attachesAll(node string, list *menu, l *load) {
	own := newBaggage()
	for _, d := range l.pods {
		own.add(d)
	}
	for _, driver := range own.drivers {
		for i, t := range list.types {
			most, known := c.attachedAtMost(t, driver)
			if !known {
				continue
			}
			for _, daemons := range list.options[i].daemons {
				if n := len(own.of[driver]) + own.more(daemons, driver); n > most {
					c.add(Violation{Rule: RuleVolumes, Node: node, Type: t.Name, Pod: own.last[driver], Detail: fmt.Sprintf(
						"driver %s attaches %d volumes at most, its pods and daemons have %d", driver, most, n)})
				}
			}
		}
	}
}

// A baggage is the volumes of pods, by driver and handle.
type baggage struct {
	drivers []string
	of      map[string]map[string]bool
	last    map[string]string // by driver, the pod that has the last volume
}

func newBaggage() *baggage {
	return &baggage{of: make(map[string]map[string]bool), last: make(map[string]string)}
}

func (b *baggage) add(d *demand) {
	for _, a := range d.volumes {
		if a.driver == "" || b.of[a.driver][a.handle] {
			continue
		}
		if b.of[a.driver] == nil {
			b.of[a.driver] = make(map[string]bool)
			b.drivers = append(b.drivers, a.driver)
		}
		b.of[a.driver][a.handle] = true
		b.last[a.driver] = d.key
	}
}

// more returns how many volumes of the driver d has that are not in b.
func (b *baggage) more(d *demand, driver string) int {
	seen := make(map[string]bool)
	for _, a := range d.volumes {
		if a.driver == driver && !b.of[driver][a.handle] {
			seen[a.handle] = true
		}
	}
	return len(seen)
}
