package binpack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/sparse"
)

// packSparse packs the copies of the bins again by package sparse. It returns the new bins if they are cheaper, else the
// given ones. The new bins hold the same copies. packSparse does nothing if the problem is not sparse (effort.sparse), if
// sparse.Feasible is false, if an item type is restricted, if Options.Fast is set, if a candidate has a budget or a supply, or
// if copies remain.
func (s *search) packSparse(bins []*pattern) []*pattern {
	b := s.builder
	if !b.effort.sparse || s.in.options.Fast || s.candidates.limited() || s.items.hasRemaining() {
		return bins
	}
	b.effort = s.usualEffort() // improve packs only a few bins at a time
	if types := s.items.types; !sparse.Feasible(len(types)) || slices.ContainsFunc(types, s.restricted) {
		return bins
	}
	dimensions := s.limitingDimensions() // two, as chooseEffort requires
	s.resetValues()
	for _, p := range bins {
		p.close()
	}
	if cheaper := s.patternsFor(bins, dimensions[0], dimensions[1]); len(cheaper) > 0 {
		bins = bins[:0:0]
		for _, c := range cheaper {
			p := s.patternOf(c)
			p.open(1) // so that the next patternOf uses other copies
			bins = append(bins, p)
		}
		return bins
	}
	for _, p := range bins {
		p.open(1)
	}
	return bins
}

// restricted reports whether t may not use some bin type that has capacity for a copy and an offer for it.
func (s *search) restricted(t *itemType) bool {
	return slices.ContainsFunc(s.in.catalogs, func(c *catalog) bool {
		on := &t.fit[c.index]
		return on.offers != nil && !slices.Equal(on.types, c.Holding(slices.Clone(on.offers.types), t.demand))
	})
}

// patternsFor returns patterns that pack all copies and cost less than the given bins, nil if it finds none. x and y are
// the dimensions that limit the contents of bins.
func (s *search) patternsFor(bins []*pattern, x, y int) []sparse.Pattern {
	var items []sparse.Item
	for _, t := range s.items.types {
		items = append(items, sparse.Item{X: t.demand[x], Y: t.demand[y], Copies: t.left, Value: t.initialValue})
	}
	var types []sparse.Bin
	for _, c := range s.candidates.list {
		price := c.price + c.fee
		types = append(types, sparse.Bin{X: c.capacity64(x), Y: c.capacity64(y), Price: price, MaxRatio: c.initialValue / price})
	}
	price := 0.0
	for _, p := range bins {
		price += p.price()
	}
	return sparse.Pack(items, types, price)
}

// patternOf returns c as a pattern, made of remaining copies, in the cheapest bin type that holds them.
func (s *search) patternOf(c sparse.Pattern) *pattern {
	x := s.candidates.list[c.Bin]
	p := &pattern{catalog: x.catalog, typ: x.typ, fee: x.fee}
	for _, m := range c.Items {
		t := s.items.types[m]
		p.offers = t.fit[x.catalog.index].offers
		p.value += t.value
		p.put(t)
	}
	p.resize()
	return p
}

// put adds one remaining copy of t to p.
func (p *pattern) put(t *itemType) {
	for i := range t.classes {
		c := &t.classes[i]
		for _, it := range c.remaining() {
			at := slices.IndexFunc(p.parts, func(x part) bool { return x.item == it })
			switch {
			case at < 0 && it.left > 0:
				p.parts = append(p.parts, part{it, 1})
				return
			case at >= 0 && p.parts[at].n < it.left:
				p.parts[at].n++
				return
			}
		}
	}
}

// capacity64 returns the capacity in dimension d, not divided by Problem.Units.
func (c *candidate) capacity64(d int) int64 { return c.catalog.types[c.typ].Capacity[d] }

// limitingDimensions returns the dimensions that can limit the contents of a bin. It omits a dimension if the others limit
// the number of copies first in every candidate. It returns at least two dimensions if the problem has two.
func (s *search) limitingDimensions() []int {
	n := s.in.problem.Dimensions
	least, most := make([]int64, n), make([]int64, n)
	out := make([]int, n)
	for d := range n {
		out[d], least[d] = d, math.MaxInt64
		for _, t := range s.items.types {
			least[d], most[d] = min(least[d], t.demand[d]), max(most[d], t.demand[d])
		}
	}
	for d := n - 1; d >= 0; d-- {
		tooLittle := func(c *candidate) bool {
			copies := int64(math.MaxInt64)
			for _, o := range out {
				if o != d && least[o] > 0 {
					copies = min(copies, max(c.capacity64(o), 0)/least[o])
				}
			}
			return most[d] != 0 && copies > max(c.capacity64(d), 0)/most[d]
		}
		if !slices.ContainsFunc(s.candidates.list, tooLittle) {
			out = slices.DeleteFunc(out, func(o int) bool { return o == d })
		}
	}
	for d := 0; d < n && len(out) < 2; d++ {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// resetValues resets the values of item types and candidates to the initial ones: those at the dual prices for all copies. So all
// bins are compared by the same values.
func (s *search) resetValues() {
	for _, t := range s.items.types {
		t.value = t.initialValue
	}
	for _, c := range s.candidates.list {
		c.value = c.initialValue
	}
	s.candidates.rank()
}
