package binpack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// A pattern is a set of copies that share one bin of a type. Each opened bin is represented by its pattern.
type pattern struct {
	catalog *catalog
	typ     int       // index of the bin type in catalog.types
	offers  *offerSet // the offers that all its items may use
	parts   []part
	fee     float64 // candidate.fee
	value   float64 // the sum of the values of its copies when it was built, in dollars per hour
	waste   float64 // the share of price that exceeds the initial value of its copies, set by computeWaste
	charge  []int64 // what one bin uses of the budget; nil means BinType.Charge, see charged
}

// A part is the n copies of one item in a pattern.
type part struct {
	item *item
	n    int
}

// price returns the price of the cheapest offer plus fee, in dollars per hour.
func (p *pattern) price() float64 { return p.offers.price[p.typ] + p.fee }

func (p *pattern) ratio() float64 { return p.value / p.price() }

// better reports whether the ratio of p exceeds that of the other pattern by more than same. Any pattern is better than nil.
func (p *pattern) better(than *pattern) bool {
	return p != nil && (than == nil || p.ratio() > than.ratio()*(1+same))
}

// demand returns the total demand of all copies by dimension.
func (p *pattern) demand() []int64 {
	out := make([]int64, len(p.catalog.types[p.typ].Capacity))
	for i := range p.parts {
		vector.Subtract(out, p.parts[i].item.Demand, -p.parts[i].n)
	}
	return out
}

// charged returns what one bin with the pattern uses of each budget dimension.
func (p *pattern) charged() []int64 {
	if p.charge != nil {
		return p.charge
	}
	return p.catalog.types[p.typ].Charge
}

// resize changes the bin type to the cheapest one that has the same supply, is not exhausted, holds the pattern and is
// allowed for each of its items. In a catalog with a budget it does nothing, because a cheaper type may have a larger charge.
func (p *pattern) resize() {
	if len(p.catalog.left) > 0 {
		return
	}
	demand, from := p.demand(), p.catalog.types[p.typ].Supply
	for _, j := range p.offers.cheapestFirst() {
		if p.offers.price[j] >= p.offers.price[p.typ] {
			break
		}
		if p.catalog.types[j].Supply == from && !p.catalog.exhausted(j) && vector.Fits(demand, p.catalog.types[j].Capacity) && p.admits(j) {
			p.typ = j
			break
		}
	}
}

// admits reports whether each item may use bin type j.
func (p *pattern) admits(j int) bool {
	return !slices.ContainsFunc(p.parts, func(x part) bool { return !x.item.typ.fit[p.catalog.index].types.Has(j) })
}

// setCharge sets charge. The charge exceeds BinType.Charge if Distinct conditions require further option types with larger
// charges. If relax is true, setCharge ignores these conditions.
func (p *pattern) setCharge(relax bool) {
	p.charge = nil
	if c := p.catalog; len(c.left) > 0 && len(p.offers.distinct) > 0 && !relax {
		options := c.Options(p.offers.id, p.demand(), c.types[p.typ].Supply, p.allowed()...)
		p.charge = c.chargeOf(p.offers, p.typ, c.affordable(options.Types))
	}
}

// allowed returns, for each part, the bin types that its item may use.
func (p *pattern) allowed() []typeset.Set {
	sets := make([]typeset.Set, len(p.parts))
	for i, x := range p.parts {
		sets[i] = x.item.typ.fit[p.catalog.index].types
	}
	return sets
}

// open opens n bins with this pattern: it marks their copies as packed, and subtracts what they use from budget and supply.
func (p *pattern) open(n int) {
	for _, x := range p.parts {
		x.item.left -= n * x.n
		x.item.typ.left -= n * x.n
	}
	p.catalog.debit(p, int64(n))
}

// close closes one bin with this pattern: its copies remain again, and it uses no budget and supply.
func (p *pattern) close() {
	p.open(-1)
	for _, x := range p.parts {
		x.item.class.head = 0
	}
}

func (p *pattern) computeWaste() {
	held := 0.0
	for i := range p.parts {
		held += float64(p.parts[i].item.typ.initialValue * float64(p.parts[i].n))
	}
	p.waste = (p.price() - held) / p.price()
}
