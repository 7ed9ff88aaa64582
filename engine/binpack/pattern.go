package binpack

import (
	"math"
	"slices"
)

// A pattern is a set of copies that share one bin of a type. A bin that is opened is the pattern it was opened with.
type pattern struct {
	catalog *catalog
	typ     int
	offers  *offerSet
	parts   []part
	shared  []int   // that its items bring
	price   float64 // with the fee
	fee     float64 // the part of price that is no price of an offer
	value   float64 // of what it holds
	waste   float64 // the share of the price that buys no value, by the values that were found first
	charge  []int64 // see charged
}

// A part is a number of copies of one item.
type part struct {
	item  *item
	typ   *itemType
	class *itemClass
	n     int
}

// ratio is the value that a dollar buys.
func (p *pattern) ratio() float64 { return p.value / p.price }

// better reports whether p has the higher ratio, or of equals more value, so that ties go to fewer bins.
func (p *pattern) better(than *pattern) bool {
	if than == nil {
		return true
	}
	a, b := p.ratio(), than.ratio()
	if math.Abs(a-b) > same*max(a, b) {
		return a > b
	}
	return p.value > than.value*(1+same)
}

// demand returns what all copies demand, without shared demands.
func (p *pattern) demand() []int64 {
	out := make([]int64, len(p.catalog.types[p.typ].Capacity))
	for i := range p.parts {
		subtract(out, p.parts[i].item.Demand, -p.parts[i].n)
	}
	return out
}

// charged returns what one bin takes out of the budget.
func (p *pattern) charged() []int64 {
	if p.charge != nil {
		return p.charge
	}
	return p.catalog.types[p.typ].Charge
}

// resize moves the pattern to the cheapest type that holds it. Where there is a budget it stays, for another type may take more
// of what is scarce.
func (p *pattern) resize() {
	if len(p.catalog.left) > 0 {
		return
	}
	demand, from := p.demand(), p.catalog.types[p.typ].Supply
	best := p.typ
	p.offers.types.Each(func(j int) {
		if p.offers.price[j] < p.offers.price[best] && p.catalog.types[j].Supply == from &&
			p.catalog.lookup.Holds(j, demand, p.shared) && p.admits(j) {
			best = j
		}
	})
	p.typ = best
	p.price = p.offers.price[best] + p.fee
}

// restricted reports whether something beside capacity and offers decides which types hold the pattern.
func (p *pattern) restricted() bool {
	return p.catalog.preload || slices.ContainsFunc(p.parts, func(x part) bool { return x.item.Restricted })
}

// admits reports whether type j holds the pattern as far as restricted items and preloaded copies go.
func (p *pattern) admits(j int) bool {
	social := false
	for _, x := range p.parts {
		if x.item.Restricted && !x.typ.fit.on[p.catalog.index].types.Has(j) {
			return false
		}
		social = social || x.item.social()
	}
	return !social || !p.catalog.preload || p.catalog.noMorePreloaded(j, p.typ)
}

// setCharge finds what a bin like p takes out of the budget where Distinct conditions call for further options.
func (p *pattern) setCharge(relax bool) {
	p.charge = nil
	if c := p.catalog; len(c.left) > 0 && len(p.offers.distinct) > 0 && !relax {
		var may func(int) bool
		if p.restricted() {
			may = p.admits
		}
		options := c.lookup.Options(p.offers.id, p.demand(), p.shared, c.types[p.typ].Supply, may)
		p.charge = c.leastCharge(p.offers, p.typ, c.affordable(options.Types))
	}
}

// alike returns a pattern like p with other copies of the same classes, nil if there are not enough left.
func (p *pattern) alike() *pattern {
	like := *p
	like.parts = make([]part, 0, len(p.parts))
	for _, x := range p.parts {
		due := x.n
		for _, it := range x.class.open() {
			n := it.left
			for _, other := range like.parts {
				if other.item == it {
					n -= other.n
				}
			}
			if n = min(n, due); n > 0 {
				like.parts = append(like.parts, part{item: it, typ: x.typ, class: x.class, n: n})
				due -= n
			}
			if due == 0 {
				break
			}
		}
		if due > 0 {
			return nil
		}
	}
	return &like
}

// move packs the copies of n bins like p, or unpacks them if n is negative.
func (p *pattern) move(n int) {
	for _, x := range p.parts {
		x.item.left -= n * x.n
		x.typ.left -= n * x.n
		if n < 0 {
			x.class.head = 0
		}
	}
	p.catalog.debit(p, int64(n))
}

// weigh notes what share of the price buys no value, by the values that were found first.
func (p *pattern) weigh() {
	held := 0.0
	for i := range p.parts {
		held += float64(p.parts[i].typ.base * float64(p.parts[i].n))
	}
	p.waste = (p.price - held) / p.price
}
