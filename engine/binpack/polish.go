package binpack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// maxSwaps is the largest number of swaps that polish makes in one pattern.
const maxSwaps = 24

// polish raises the value of the pattern by swaps, best first. A swap removes copies of one item and adds as many of another
// item type. It does not remove items with counts or bounds, nor add item types that contain such items. It adds no item
// type that would narrow the pattern's offers. If these offers have Distinct conditions, polish does nothing, unless
// Options.RelaxDistinct is set. It leaves in addable only the item types that swaps may add.
func (b *builder) polish() {
	p := &b.pattern
	if len(p.offers.distinct) > 0 && !b.in.options.RelaxDistinct {
		return
	}
	b.addable = slices.DeleteFunc(b.addable, func(t *itemType) bool {
		return t.left == t.used || t.hasConflicts || p.catalog.meet(p.offers, t.fit[p.catalog.index].offers) != p.offers
	})
	swaps := 0
	for swaps < maxSwaps && b.swap() {
		swaps++
	}
	if swaps == 0 {
		return
	}
	p.parts = slices.DeleteFunc(p.parts, func(x part) bool { return x.n == 0 })
	p.offers = p.parts[0].item.typ.fit[p.catalog.index].offers
	for _, x := range p.parts {
		p.offers = p.catalog.meet(p.offers, x.item.typ.fit[p.catalog.index].offers)
	}
}

// swap makes the swap that raises the value most. It returns false if no swap raises it.
func (b *builder) swap() bool {
	parts := b.pattern.parts
	out, in, times, gain := -1, -1, 0, 0.0
	for i := range parts {
		old := parts[i].item.typ
		if parts[i].n == 0 || parts[i].item.hasConflicts() {
			continue
		}
		for j, t := range b.addable {
			if t.value <= old.value || t == old {
				continue
			}
			n := b.exchangeable(old, t, parts[i].n)
			if g := float64(n) * (t.value - old.value); g > gain*(1+same) {
				out, in, times, gain = i, j, n, g
			}
		}
	}
	if out < 0 {
		return false
	}
	old := parts[out].item.typ
	parts[out].n -= times
	old.used -= times
	b.pattern.value -= float64(old.value * float64(times))
	vector.Subtract(b.free, old.demand, -times)
	b.add(b.addable[in], times)
	return true
}

// exchangeable returns how many of n copies of the type old in the bin can be replaced by copies of t, one by one. The free
// capacity and the remaining copies of t limit the number.
func (b *builder) exchangeable(old, t *itemType, n int) int {
	n = min(n, t.left-t.used)
	for d, v := range t.demand {
		if more := v - old.demand[d]; more > 0 {
			if more > b.free[d] {
				return 0
			}
			n = int(min(int64(n), b.free[d]/more))
		}
	}
	return n
}
