package binpack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/lp"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// A pricing computes the values of the item types from the dual prices of the relaxation for the remaining copies.
type pricing struct {
	items              *itemSet
	candidates         *candidates
	totalAtUpdate      float64 // items.total at the last update of the dual prices
	totalAtGroupPrices float64 // items.total when updateGroupPrices was last called
	covering           *lp.Covering
	bins               []lp.CoverBin // the bins of covering
	stale              bool          // bins must be recomputed
	supplies           []int         // what is left of the supplies
	initial            []int         // what was left of them when the search began
}

// For cheap solutions a fee is added to the price of each bin whose type has no supply, so that there are few bins. The cost of the
// solution is estimated by the value of all copies. The fee is smallFee at a cost of zero, and falls linearly to 0 at smallCost.
// Both are dollars per hour.
const (
	smallFee  = 0.06
	smallCost = 1.0
)

func newPricing(in *instance, items *itemSet, c *candidates) *pricing {
	p := &pricing{
		items: items, candidates: c, covering: lp.NewCovering(c.width, items.groups),
		supplies: in.catalogs[0].supplies,
	}
	if slices.ContainsFunc(c.list, func(x *candidate) bool { return x.draw > 0 }) {
		p.initial, p.covering.Supplies = slices.Clone(p.supplies), make([]float64, len(p.supplies))
	}
	items.resetByValue()
	c.setFees(in.problem.Fee, 0)
	if !p.update() {
		return p
	}
	if more := smallFee * max(0, 1-items.total/smallCost); more > 0 {
		c.setFees(in.problem.Fee, more)
		c.updateGroupPrices()
		p.stale = true
	}
	p.totalAtGroupPrices = items.total
	return p
}

// needShift is the relative increase of the needs in one dimension in smooth.
const needShift = 0.15

// update recomputes the dual prices for the remaining copies, and what depends on them: values, items.byValue, items.total
// and candidate.maxRatio. The relaxation has the candidates that are not exhausted. Those of Paid types are only in it if they
// have a draw. update returns false if no bin of a type that is not Paid can be opened.
func (p *pricing) update() bool {
	items, c := p.items, p.candidates
	if items.total <= p.totalAtGroupPrices/2 {
		c.updateGroupPrices()
		p.totalAtGroupPrices, p.stale = items.total, true
	}
	for _, x := range c.list {
		if in := !x.catalog.exhausted(x.typ) && (x.draw > 0 || !x.catalog.types[x.typ].Paid); in != x.inRelaxation {
			x.inRelaxation, p.stale = in, true
		}
	}
	if p.stale {
		p.bins = c.bins(func(x *candidate) bool { return x.inRelaxation })
		p.covering.SetBins(p.bins)
		p.stale = false
	}
	if !slices.ContainsFunc(p.bins, func(b lp.CoverBin) bool { return b.Draw == 0 }) {
		return false
	}
	for i, n := range p.initial {
		p.covering.Supplies[i] = float64(p.supplies[i]) / float64(max(1, n))
	}
	needs := items.needs(c.width)
	prices, _ := p.covering.Solve(needs)
	if len(p.bins) == 1 {
		splitPrice(prices[0], needs[0], &p.bins[0])
	} else if items.groups == 1 {
		p.smooth(prices[0], needs)
	}
	for _, t := range items.byValue {
		// a copy that uses only dimensions with price 0 still has a small value
		t.value = max(vector.Dot(prices[t.group], t.weights), minValue)
		t.noPattern = false
	}
	items.sortByValue()
	c.setValues(prices)
	c.rank()
	p.totalAtUpdate = items.total
	return true
}

// smooth replaces the dual prices by a mean: of these prices and, for each dimension with a need, of those for needs that are
// higher by needShift in that dimension. It leaves out scarce cardinalities. Dual prices are equal for all needs of similar
// proportions, and jump where the optimum uses other bin types. Until a jump, all bin types of the optimum have the same
// ratio, and construction may use too many of one. Then the remaining copies suit none of the types. Close to a jump the mean
// prefers the bin types that both optima use. The mean is a feasible solution of the dual program, because its terms are.
// There must be one price group. With several, the further solves would take too long.
func (p *pricing) smooth(prices []float64, needs [][]float64) {
	n := 1.0
	for r, need := range needs[0][:p.candidates.width-len(p.items.scarce)] {
		if need == 0 {
			continue
		}
		needs[0][r] = need * (1 + needShift)
		more, _ := p.covering.SolveAgain(needs)
		needs[0][r] = need
		for d, v := range more[0] {
			prices[d] += v
		}
		n++
	}
	for r := range prices {
		prices[r] /= n
	}
}

// splitPrice sets the dual prices of a relaxation with a single bin type b. The optimum would price only the dimension that
// requires the most bins, and ignore how copies combine. splitPrice distributes the bin's price over all dimensions
// instead. The weight of a dimension is the fourth power of the number of bins that it requires. With a single price group,
// no bin then holds more value than its price. Panigrahy et al. (2011) weight dimensions similarly.
func splitPrice(prices, needs []float64, b *lp.CoverBin) {
	sum, parts := 0.0, make([]float64, len(prices))
	for r, c := range b.Capacity {
		if c > 0 {
			square := needs[r] / c * needs[r] / c
			parts[r] = float64(square * square)
			sum += parts[r]
		}
	}
	for r, part := range parts {
		if part > 0 {
			prices[r] = b.Price * (part / sum) / b.Capacity[r]
		}
	}
}
