package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// checkCommitments checks that each commitment has enough units left for the nodes that are priced by it. It reports each node in
// excess. A plan that uses more is accepted if the bill still rises by no more than the plan says, because another
// commitment covers the node.
func checkCommitments(c *checker) {
	used := make(map[string]int64)
	for i := range c.plan.Nodes {
		o := c.plan.Nodes[i].Offering
		if o.Commitment == "" {
			continue
		}
		use, left := o.UseOf(o.Commitment), c.snapshot.Coverage().Left(o.Commitment)-used[o.Commitment]
		if use > 0 && use <= left {
			used[o.Commitment] += use
			continue
		}
		if c.snapshot.Coverage() != nil && billed(c.snapshot, c.plan) {
			return
		}
		c.add(Violation{Rule: RuleCommitment, Node: c.nameOf(i), Detail: fmt.Sprintf(
			"uses %d units of %s, which has %d left", use, o.Commitment, max(0, left))})
	}
}

// billed reports whether the bill rises by no more than the prices of the planned nodes.
func billed(s *model.Snapshot, plan *model.Plan) bool {
	var added []*model.Offering
	sum := 0.0
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		if len(n.Options) == 0 {
			return false
		}
		at := slices.IndexFunc(n.Options[0].Offerings, func(o model.Offering) bool {
			return o.Zone == n.Offering.Zone && o.CapacityType == n.Offering.CapacityType && o.ReservationID == n.Offering.ReservationID
		})
		if at < 0 {
			return false
		}
		added = append(added, &n.Options[0].Offerings[at])
		sum += n.Offering.Price
	}
	return model.BillAdded(s.Coverage(), added...) <= sum+tolerance*max(1, sum)
}

// checkCovered checks a node that is priced by a commitment: whichever option is launched, the commitment covers it with no more
// units than planned. The options are sorted by the covered price.
func checkCovered(c *checker, node string, n *model.PlannedNode, list *optionList) {
	most := n.Offering.UseOf(n.Offering.Commitment)
	var prices []float64
	for _, o := range list.options {
		least := math.Inf(1)
		for _, at := range o.launchable {
			x := o.instanceType.Offerings[at]
			use := x.UseOf(n.Offering.Commitment)
			if use <= 0 || use > most {
				c.add(Violation{Rule: RuleCommitment, Node: node, Type: o.name, Detail: fmt.Sprintf(
					"%s %s uses %d units of %s, the plan %d", x.Zone, x.CapacityType, use, n.Offering.Commitment, most)})
			}
			least = min(least, coveredPrice(x, n.Offering.Commitment))
		}
		prices = append(prices, least)
	}
	if !slices.IsSorted(prices) {
		c.add(Violation{Rule: RulePrice, Node: node, Detail: "its options are not in the order of their covered prices"})
	}
}

// coveredPrice returns the price of a node of the offering that the commitment covers, its own price if it does not.
func coveredPrice(o model.Offering, id string) float64 {
	for _, x := range o.Covers {
		if x.Commitment.ID == id {
			return o.CoveredBy(x.Commitment).Price
		}
	}
	return o.Price
}
