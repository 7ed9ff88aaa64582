package binpack

import (
	"github.com/karpenter-go/karpenter/engine/binpack/lp"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// A pricing computes the value of every item type. It uses the dual prices of the linear relaxation for the copies
// left.
type pricing struct {
	demand     *demand
	candidates *candidates
	meter      *meter
	fee        float64 // the amount added to each bin's price
	priced     float64 // the total value left at the last update of dual prices
	charged    float64 // the total value left when charges were last computed; 0: compute them at the next update
	covering   *lp.Covering
	bins       []lp.CoverBin
	open       []bool // by candidate: whether the covering contains it
	stale      bool   // the covering needs new bins
}

// A small fee per bin favours few bins, because each bin has overhead. It is smallFee for a solution that costs
// nothing, in dollars per hour. It falls linearly to 0 for a solution that costs smallCost per hour or more. There
// only prices count.
const (
	smallFee  = 0.06
	smallCost = 1.0
)

func newPricing(in *instance, d *demand, c *candidates) *pricing {
	p := &pricing{
		demand: d, candidates: c, meter: in.meter, fee: in.problem.Fee, covering: lp.NewCovering(c.width, d.groups),
		open: make([]bool, len(c.list)), stale: true,
	}
	d.rank()
	if !p.update() {
		return p
	}
	cost := 0.0
	for _, t := range d.types {
		cost += float64(t.value * float64(t.left))
	}
	if more := smallFee * max(0, 1-cost/smallCost); more > 0 {
		p.fee += more
		p.charged = 0
	}
	return p
}

// update recomputes the value of every item type for the copies left, and the bounds of the candidates. It returns
// false if no bin can be opened.
func (p *pricing) update() bool {
	if p.meter.exhausted() || !p.solve() {
		return false
	}
	p.demand.sort()
	p.candidates.rank(p.fee)
	p.priced = p.demand.total
	if p.charged == 0 {
		p.charged = p.demand.total
	}
	return true
}

func (p *pricing) solve() bool {
	d, c := p.demand, p.candidates
	if d.total <= p.charged/2 || p.charged == 0 {
		c.recharge(p.fee)
		p.charged, p.stale = d.total, true
	}
	for _, x := range c.list {
		if open := !x.soldOut(); open != p.open[x.index] {
			p.open[x.index], p.stale = open, true
		}
	}
	if p.stale {
		p.setBins()
	}
	if len(p.bins) == 0 {
		return false
	}
	before := p.covering.Steps()
	needs := d.needs(c.width)
	prices, _ := p.covering.Solve(needs)
	p.meter.spend(int(p.covering.Steps()-before) + len(p.bins))
	if len(p.bins) == 1 {
		divide(prices[0], needs[0], &p.bins[0])
	}
	for _, t := range d.byValue {
		// A copy without priced demands still has a small value.
		t.value = max(vector.Dot(prices[t.group], t.weights), minPrice)
		t.stuck = false
	}
	c.value(prices)
	return true
}

// divide sets the prices for a single bin type. The dual solution would price only the dimension that requires the
// most bins, which ignores how copies combine. divide divides the bin's price among all dimensions. Weights are the
// fourth powers of the number of bins that each dimension requires alone. So scarce dimensions count most, as in the
// dot-product heuristic of Panigrahy et al. (2011). No bin holds more value than its price.
func divide(prices, needs []float64, b *lp.CoverBin) {
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

// setBins passes the open candidates to the covering, without dominated ones.
func (p *pricing) setBins() {
	p.bins = p.bins[:0]
	for _, x := range p.candidates.relevant(func(x *candidate) bool { return p.open[x.index] }) {
		p.bins = x.appendBins(p.bins)
	}
	p.covering.SetBins(p.bins)
	p.stale = false
}
