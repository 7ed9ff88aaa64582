package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// optionList checks that the options are types of the pool, each once, and break no rule. It reports whether they break none.
func (c *checker) optionList(node string, n *model.PlannedNode, list *menu) (sound bool) {
	bad := func(t, detail string) {
		c.add(Violation{Rule: RuleType, Node: node, Type: t, Detail: detail})
	}
	if len(n.Options) == 0 {
		bad("", "has no instance type to launch")
	}
	if len(n.Options) > maxOptions {
		bad("", fmt.Sprintf("has %d options, more than the %d that a claim may name", len(n.Options), maxOptions))
	}
	types := c.typesOf(n.Pool.Name)
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

// typesOf returns the types of a pool by name.
func (c *checker) typesOf(pool string) map[string]*model.InstanceType {
	types, ok := c.types[pool]
	if !ok {
		types = make(map[string]*model.InstanceType)
		for _, t := range c.snapshot.Types(pool) {
			types[t.Name] = t
		}
		c.types[pool] = types
	}
	return types
}

// chosen checks the offering that the node is priced by, and that the options are in
// the order of their prices.
//
// Reserved capacity is nearly free and soon used up, so another node may have had it:
// then the next cheaper offering, and the order without reservations, are right too.
func (c *checker) chosen(node string, n *model.PlannedNode, list *menu) {
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
func (c *checker) diversity(node string, n *model.PlannedNode, sh *shape) {
	if n.MinValuesRelaxed {
		return
	}
	for _, r := range n.Pool.Object.Spec.Template.Spec.Requirements {
		if r.MinValues == nil {
			continue
		}
		if have := c.distinct(n.Options, sh, r.Key); have < *r.MinValues {
			c.add(Violation{Rule: RuleMinValues, Node: node, Detail: fmt.Sprintf(
				"leaves %d values of %s, the pool wants %d", have, r.Key, *r.MinValues)})
		}
	}
}

// distinct counts the values that a label may have on any of the options.
func (c *checker) distinct(options []*model.InstanceType, sh *shape, key string) int {
	if stable, ok := c.places.aliases[key]; ok {
		key = stable
	}
	at := slices.Index(sh.keys, key)
	values := make(map[string]bool)
	for _, t := range options {
		f := sh.factsOf(t)
		for _, i := range c.optionOf(sh, t).sold {
			fate, _ := sh.fate(f, sh.prospects(f), i)
			for _, cand := range fate[at] {
				if !cand.missing {
					values[cand.value] = true
				}
			}
		}
	}
	return len(values)
}
