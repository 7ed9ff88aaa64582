package verify

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// unlimited is the attach limit of a CSI driver that is registered on a node without a limit.
const unlimited = math.MaxInt

// attachLimitsOf returns the attach limit of each CSI driver that the CSINode of an existing node lists.
func (c *catalog) attachLimitsOf(n *model.Node) map[string]int {
	limits := make(map[string]int)
	if info, ok := c.snapshot.CSINodes.Get(n.NodeName()); ok {
		for _, d := range info.Spec.Drivers {
			limits[d.Name] = unlimited
			if d.Allocatable != nil && d.Allocatable.Count != nil {
				limits[d.Name] = int(*d.Allocatable.Count)
			}
		}
	}
	return limits
}

// attachLimit returns how many volumes of the driver the option can attach, and false if that is unknown. The limit that an
// existing node reports takes precedence, also if it is unlimited. The next is the lowest limit that existing nodes of the
// type report, and the last is the limit of the type.
func (c *catalog) attachLimit(o *option, driver string) (int, bool) {
	if limit, ok := o.attachLimits[driver]; ok {
		return limit, true
	}
	if o.instanceType == nil {
		return 0, false
	}
	if c.reported == nil {
		c.reported = make(map[[2]string]int)
		for _, n := range c.snapshot.Nodes() {
			for driver, limit := range c.attachLimitsOf(n) {
				key := [2]string{n.Labels[corev1.LabelInstanceTypeStable], driver}
				if lowest, known := c.reported[key]; limit != unlimited && (!known || limit < lowest) {
					c.reported[key] = limit
				}
			}
		}
	}
	if limit, ok := c.reported[[2]string{o.instanceType.Name, driver}]; ok {
		return limit, true
	}
	limit, ok := o.instanceType.Attach[driver]
	return limit, ok
}

// attach checks that the option can attach the volumes of the load, in addition to those of the pods that are present. A volume
// that several pods use counts once. Volumes without a CSI driver have no limit.
func (c *checker) attach(node string, o *option, l *load) {
	for _, present := range o.present {
		attached, number := make(map[[2]string]bool), make(map[string]int) // by driver and handle, by driver
		add := func(a *attachment) (isNew bool) {
			id := [2]string{a.driver, a.handle}
			if attached[id] {
				return false
			}
			attached[id] = true
			number[a.driver]++
			return true
		}
		for _, a := range present.volumes {
			if a.problem == "" {
				add(a)
			}
		}
		for _, d := range l.pods {
			for _, a := range d.volumes {
				limit, known := c.catalog.attachLimit(o, a.driver)
				if isNew := add(a); isNew && known && number[a.driver] > limit {
					c.add(Violation{Rule: RuleVolumes, Node: node, Type: o.name, Pod: d.key, Detail: fmt.Sprintf(
						"driver %s attaches %d volumes at most, this is number %d", a.driver, limit, number[a.driver])})
				}
			}
		}
	}
}
