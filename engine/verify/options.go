package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// chosen checks the offering by which the node is priced, and that the options are sorted by price.
//
// Other nodes may have used up a reservation. So offerings from reservations need not be considered, neither for the
// cheapest offering nor for the order.
func (c *checker) chosen(node string, n *model.PlannedNode, list *optionList) {
	first := n.Options[0]
	same := func(i int) bool {
		o := first.Offerings[i]
		return o.Zone == n.Offering.Zone && o.CapacityType == n.Offering.CapacityType &&
			o.ReservationID == n.Offering.ReservationID && coveredPrice(o, n.Offering.Commitment) == n.Offering.Price
	}
	if !slices.ContainsFunc(list.options[0].launchable, same) {
		c.add(Violation{Rule: RuleOffering, Node: node, Type: first.Name, Detail: fmt.Sprintf(
			"%s %s at %v is not available within the node's requirements",
			n.Offering.Zone, n.Offering.CapacityType, n.Offering.Price)})
	}
	if math.IsNaN(n.Offering.Price) || n.Offering.Price < 0 {
		c.add(Violation{Rule: RulePrice, Node: node, Detail: fmt.Sprintf("costs %v", n.Offering.Price)})
	}
	if n.Offering.Commitment != "" {
		checkCovered(c, node, n, list)
		return
	}
	at := slices.IndexFunc(list.options, func(o *option) bool { return o.unreserved < n.Offering.Price })
	if at >= 0 {
		c.add(Violation{Rule: RulePrice, Node: node, Type: list.options[at].name, Detail: fmt.Sprintf(
			"costs %v, less than the node's price of %v", list.options[at].unreserved, n.Offering.Price)})
	}
	if !list.sorted {
		c.add(Violation{Rule: RulePrice, Node: node, Detail: "its options are not in the order of their prices"})
	}
}

// diversity checks the pool's minValues, unless the plan states that they were relaxed.
func (c *checker) diversity(node string, n *model.PlannedNode, t *template) {
	if n.MinValuesRelaxed {
		return
	}
	for _, r := range n.Pool.Object.Spec.Template.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		if have := c.catalog.countDistinct(n.Options, t, r.Key); have < *r.MinValues {
			c.add(Violation{Rule: RuleMinValues, Node: node, Detail: fmt.Sprintf(
				"leaves %d values of %s, minValues of the pool is %d", have, r.Key, *r.MinValues)})
		}
	}
}

// countDistinct returns how many values the options have for a label. A type that leaves the value open has none.
func (c *catalog) countDistinct(options []*model.InstanceType, t *template, key string) int {
	key = cmp.Or(c.index.Aliases[key], key)
	at := slices.Index(t.keys, key)
	values := make(map[string]bool)
	for _, it := range options {
		f := c.labelsOfType(it)
		for _, i := range c.optionOf(t, it).launchable {
			stated, set := f.byType[key], f.byOffering[key]
			if set != nil && set[i] != nil {
				stated = set[i]
			}
			if stated == nil {
				continue
			}
			for _, v := range t.outcomeOf(&t.labels[at], stated, false).values {
				if !v.Missing {
					values[v.Text] = true
				}
			}
		}
	}
	return len(values)
}
