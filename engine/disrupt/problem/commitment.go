package problem

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
)

// released returns by how much the bill falls when the node ends, in dollars per hour. c.Has must be true for the node.
func (p *Problem) released(c *commitment.Coverage, node string) float64 {
	class := c.Class(node)
	price, known := p.alone[class]
	if !known {
		price = c.Released(node)
		p.alone[class] = price
	}
	return price
}

// priceOfSet returns by how much the bill falls when the nodes end, in dollars per hour. cluster has these nodes.
func priceOfSet(cluster *model.Snapshot, set []*Candidate) float64 {
	sum, coverage, names := 0.0, cluster.Coverage(), make([]string, len(set))
	for i, c := range set {
		if names[i] = c.Node.Name; !coverage.Has(names[i]) {
			sum += c.Price
		}
	}
	return sum + coverage.Released(names...)
}

// withoutUnitsInUse returns the instance types of all NodePools of cluster without the units of commitments that the nodes
// planned for pending pods use. The result is nil if there are no commitments.
func withoutUnitsInUse(cluster *model.Snapshot, planned []model.PlannedNode) map[string][]*model.InstanceType {
	use := map[string]int64{}
	for i := range planned {
		o := planned[i].Offering
		use[o.Commitment] += o.UseOf(o.Commitment)
	}
	return WithUnits(cluster, func(c *commitment.Commitment) (units int64, deducted bool) {
		return max(0, c.Units-use[c.ID]), c.Deducted
	})
}

// WithUnits returns the instance types of all NodePools of s with changed commitments, nil if s has no commitments. The
// function units returns the new Units and Deducted of a commitment.
func WithUnits(s *model.Snapshot, units func(*commitment.Commitment) (units int64, deducted bool)) map[string][]*model.InstanceType {
	if s.Coverage() == nil {
		return nil
	}
	made := map[*commitment.Commitment]*commitment.Commitment{}
	return model.WithOfferings(s, func(_ *model.InstanceType, o *model.Offering) bool {
		o.Covers = slices.Clone(o.Covers)
		for i := range o.Covers {
			c := o.Covers[i].Commitment
			if made[c] == nil {
				own := *c
				own.Units, own.Deducted = units(c)
				made[c] = &own
			}
			o.Covers[i].Commitment = made[c]
		}
		return len(o.Covers) > 0
	})
}
