package verify

import (
	"fmt"
	"math"
)

// tolerance is the accepted relative error of a sum of prices, and the absolute error of a sum below 1. Sums of the
// same prices in different order differ by rounding.
const tolerance = 1e-9

// price checks that the prices of the nodes add up to that of the plan, and that the floor is between zero and that
// price.
func (c *checker) price() {
	sum := 0.0
	for i := range c.plan.Nodes {
		sum += c.plan.Nodes[i].Offering.Price
	}
	slack := tolerance * max(1, math.Abs(sum))
	if !(math.Abs(sum-c.plan.Price) <= slack) { // true for NaN as well
		c.add(Violation{Rule: RulePrice, Detail: fmt.Sprintf(
			"the plan says %v, its nodes cost %v", c.plan.Price, sum)})
	}
	if !(c.plan.Floor >= 0 && c.plan.Floor <= c.plan.Price+slack) {
		c.add(Violation{Rule: RulePrice, Detail: fmt.Sprintf(
			"the floor of %v is not between zero and the price of %v", c.plan.Floor, c.plan.Price)})
	}
}

// reservations checks that each capacity reservation has enough instances for the nodes that are priced by it. It
// reports each node in excess.
func (c *checker) reservations() {
	used := make(map[string]int)
	for i := range c.plan.Nodes {
		o := c.plan.Nodes[i].Offering
		if o.ReservationID == "" {
			continue
		}
		if used[o.ReservationID]++; used[o.ReservationID] > o.ReservationCapacity {
			c.add(Violation{Rule: RuleReservation, Node: c.nameOf(i), Detail: fmt.Sprintf(
				"is number %d that draws on %s, which holds %d", used[o.ReservationID], o.ReservationID, o.ReservationCapacity)})
		}
	}
}
