package verify

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// tolerance is the relative error that sums of prices may have: additions in another
// order differ by less.
const tolerance = 1e-9

// price checks that the prices of the nodes add up to the plan's, and that the floor is
// one.
func (c *checker) price() {
	sum := 0.0
	for i := range c.plan.Nodes {
		sum += c.plan.Nodes[i].Offering.Price
	}
	slack := tolerance * max(1, math.Abs(sum))
	if !(math.Abs(sum-c.plan.Price) <= slack) { // so that NaN is reported too
		c.add(Violation{Rule: RulePrice, Detail: fmt.Sprintf(
			"the plan says %v, its nodes cost %v", c.plan.Price, sum)})
	}
	if !(c.plan.Floor >= 0 && c.plan.Floor <= c.plan.Price+slack) {
		c.add(Violation{Rule: RulePrice, Detail: fmt.Sprintf(
			"the floor of %v is not between zero and the price of %v", c.plan.Floor, c.plan.Price)})
	}
}

// reservations checks that no more nodes are priced by a reservation than it holds.
func (c *checker) reservations() {
	used, holds := make(map[string]int), make(map[string]int)
	for i := range c.plan.Nodes {
		if o := c.plan.Nodes[i].Offering; o.ReservationID != "" {
			used[o.ReservationID]++
			holds[o.ReservationID] = o.ReservationCapacity
		}
	}
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if used[id] > holds[id] {
			c.add(Violation{Rule: RuleReservation, Detail: fmt.Sprintf(
				"%d nodes draw on %s, which holds %d", used[id], id, holds[id])})
		}
	}
}
