package binpack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// maxSwaps is the largest number of swaps that polish makes in one pattern.
const maxSwaps = 24

// polish raises the value of a pattern by swaps, best first. A swap removes copies of one item and adds as many of another
// item type. It does not remove items with counts or bounds, nor add item types that contain such items. It adds no item
// type that would narrow the pattern's offers. If these offers have Distinct conditions, polish does nothing, unless
// Options.RelaxDistinct is set. p must be the pattern that build returned last.
func (b *builder) polish(p *pattern) {
	if len(p.offers.distinct) > 0 && !b.in.options.RelaxDistinct {
		return
	}
	f := &b.scratch.filling
	*f = filling{builder: b, pattern: *p, refused: b.scratch.refused}
	f.pattern.parts = append(b.scratch.parts[:0], p.parts...)
	b.scratch.parts = f.pattern.parts
	t := &p.catalog.types[p.typ]
	f.free = append(b.scratch.free[:0], t.Capacity...)
	for _, x := range p.parts {
		vector.Subtract(f.free, x.item.Demand, x.n)
	}
	// build left in scratch.open the item types that it considered for p. Their itemType.used is the number of copies in p.
	f.open = b.scratch.trade[:0]
	for _, t := range b.scratch.open {
		if t.left > t.used && !t.hasConflicts &&
			p.catalog.meet(p.offers, t.fit[p.catalog.index].offers) == p.offers {
			f.open = append(f.open, t)
		}
	}
	b.scratch.trade = f.open
	for range maxSwaps {
		if !f.swap() {
			break
		}
	}
	if f.pattern.value > p.value {
		p.parts = slices.DeleteFunc(slices.Clone(f.pattern.parts), func(x part) bool { return x.n == 0 })
		p.value = f.pattern.value
		p.offers = p.parts[0].typ.fit[p.catalog.index].offers
		for _, x := range p.parts {
			p.offers = p.catalog.meet(p.offers, x.typ.fit[p.catalog.index].offers)
		}
		p.price = p.offers.price[p.typ] + p.fee
	}
}

// swap makes the swap that raises the value most. It returns false if no swap raises it.
func (f *filling) swap() bool {
	parts := f.pattern.parts
	out, in, times, gain := -1, -1, 0, 0.0
	for i := range parts {
		a := parts[i].typ
		if parts[i].n == 0 || parts[i].item.hasConflicts() {
			continue
		}
		for j, b := range f.open {
			if b.value <= a.value || b == a {
				continue
			}
			n := f.exchangeable(a, b, parts[i].n)
			if g := float64(n) * (b.value - a.value); g > gain*(1+same) {
				out, in, times, gain = i, j, n, g
			}
		}
	}
	if out < 0 {
		return false
	}
	a, b := parts[out].typ, f.open[in]
	parts[out].n -= times
	parts[out].item.inPattern -= times
	a.used -= times
	f.pattern.value -= float64(a.value * float64(times))
	vector.Subtract(f.free, a.demand, -times)
	return f.add(b, times) > 0
}

// exchangeable returns how many of n copies of a in the bin can be replaced by copies of b, one by one. The free
// capacity and the remaining copies of b limit the number.
func (f *filling) exchangeable(a, b *itemType, n int) int {
	n = min(n, b.left-b.used)
	for d, v := range b.demand {
		if more := v - a.demand[d]; more > 0 {
			if more > f.free[d] {
				return 0
			}
			n = int(min(int64(n), f.free[d]/more))
		}
	}
	return n
}
