package binpack

import "github.com/karpenter-go/karpenter/engine/binpack/lp"

// Pricing finds the value of every item type from the dual prices of the linear relaxation of what is left to pack.
type pricing struct {
	demand     *demand
	candidates *candidates
	meter      *meter
	fee        float64 // what a bin counts besides its price
	priced     float64 // the total value when prices were last found
	charged    float64 // the total value when charges were last found; 0: they are to be found
	covering   *lp.Covering
	bins       []lp.CoverBin
	open       []bool // by candidate: whether the covering has it
	stale      bool   // the covering is to be given its bins anew
}

// Few bins are better than many: each has its overhead and its share of trouble. Where a solution is small, a bin counts as if
// it cost smallFee more, in dollars per hour. For a solution that costs smallCost per hour or more that has faded out: there,
// price decides alone.
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

// update finds the value of every item type for what is left, and the bounds of the candidates. It returns false when no bin
// can be opened.
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
		spread(prices[0], needs[0], &p.bins[0])
	}
	for _, t := range d.byValue {
		t.value = max(dot(prices[t.group], t.weights), minPrice) // a copy that demands nothing scarce still takes a place
		t.stuck = false
	}
	c.value(prices)
	return true
}

// spread sets the prices for a single bin type. The dual prices are those of one dimension alone there, the one that is needed
// most, and tell nothing of what fits together. Instead each dimension has a part of the bin's price, by the fourth power of the
// share of bins that it alone calls for. So scarce dimensions count most, as in the dot-product heuristic of Panigrahy et al.
// (2011), and no bin holds more value than it costs.
func spread(prices, needs []float64, b *lp.CoverBin) {
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

// setBins gives the covering the candidates that are open, without those that another one makes pointless.
func (p *pricing) setBins() {
	p.bins = p.bins[:0]
	for _, x := range p.candidates.relevant(func(x *candidate) bool { return p.open[x.index] }) {
		p.bins = x.appendBins(p.bins)
	}
	p.covering.SetBins(p.bins)
	p.stale = false
}
