package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// optionList checks that the options are types of the pool, each once, and break no rule. It reports whether they break none.
func (c *checker) optionList(node string, n *model.PlannedNode, list *optionList) (sound bool) {
	bad := func(t, detail string) {
		c.add(Violation{Rule: RuleType, Node: node, Type: t, Detail: detail})
	}
	if len(n.Options) == 0 {
		bad("", "has no instance type to launch")
	}
	if len(n.Options) > maxOptions {
		bad("", fmt.Sprintf("has %d options, more than the %d that a claim may name", len(n.Options), maxOptions))
	}
	types := c.catalog.typesOf(n.Pool.Name)
	seen := make(map[*model.InstanceType]bool, len(n.Options))
	for _, t := range n.Options {
		switch {
		case types[t.Name] != t:
			bad(t.Name, "is not a type of the pool")
		case seen[t]:
			bad(t.Name, "is listed twice")
		}
		seen[t] = true
	}
	sound = true
	for _, o := range list.options {
		for _, v := range o.broken {
			v.Node = node
			c.add(v)
			sound = false
		}
	}
	return sound
}

// chosen checks the offering that the node is priced by, and that the options are in
// the order of their prices.
//
// Reserved capacity is nearly free and soon used up, so another node may have had it:
// then the next cheaper offering, and the order without reservations, are right too.
func (c *checker) chosen(node string, n *model.PlannedNode, list *optionList) {
	if len(n.Options) == 0 {
		return
	}
	first := list.options[0]
	same := func(o model.Offering) bool {
		return o.Zone == n.Offering.Zone && o.CapacityType == n.Offering.CapacityType &&
			o.ReservationID == n.Offering.ReservationID && o.Price == n.Offering.Price
	}
	if !slices.ContainsFunc(first.offerings, same) {
		c.add(Violation{Rule: RuleOffering, Node: node, Type: n.Options[0].Name, Detail: fmt.Sprintf(
			"%s %s at %v is not available within the node's requirements",
			n.Offering.Zone, n.Offering.CapacityType, n.Offering.Price)})
	}
	if math.IsNaN(n.Offering.Price) || n.Offering.Price < 0 {
		c.add(Violation{Rule: RulePrice, Node: node, Detail: fmt.Sprintf("costs %v", n.Offering.Price)})
	}

	for i, o := range list.options {
		if list.cheapest >= n.Offering.Price {
			break
		}
		if price := cheapest(o.offerings, false); price < n.Offering.Price {
			c.add(Violation{Rule: RulePrice, Node: node, Type: n.Options[i].Name, Detail: fmt.Sprintf(
				"costs %v, less than the node's price of %v", price, n.Offering.Price)})
		}
	}
	if !list.ordered {
		c.add(Violation{Rule: RulePrice, Node: node, Detail: "its options are not in the order of their prices"})
	}
}

// cheapest returns the lowest price, or infinity if there is none.
func cheapest(offerings []model.Offering, reserved bool) float64 {
	least := math.Inf(1)
	for _, o := range offerings {
		if reserved || o.ReservationID == "" {
			least = min(least, o.Price)
		}
	}
	return least
}

// diversity checks the pool's minValues, unless they were relaxed.
func (c *checker) diversity(node string, n *model.PlannedNode, t *template) {
	if n.MinValuesRelaxed {
		return
	}
	for _, r := range n.Pool.Object.Spec.Template.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		if have := c.catalog.distinct(n.Options, t, r.Key); have < *r.MinValues {
			c.add(Violation{Rule: RuleMinValues, Node: node, Detail: fmt.Sprintf(
				"leaves %d values of %s, the pool wants %d", have, r.Key, *r.MinValues)})
		}
	}
}

// distinct returns how many values a label may have on any of the options.
func (c *catalog) distinct(options []*model.InstanceType, t *template, key string) int {
	if stable, ok := c.index.Aliases[key]; ok {
		key = stable
	}
	at := slices.Index(t.keys, key)
	values := make(map[string]bool)
	for _, it := range options {
		f := t.labelsOfType(it)
		for _, i := range c.optionOf(t, it).positions {
			outcomes, _ := t.outcomes(f, t.outcomesByType(f), i)
			for _, v := range outcomes[at] {
				if !v.Missing {
					values[v.Text] = true
				}
			}
		}
	}
	return len(values)
}
