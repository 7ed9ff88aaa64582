package binpack

import "slices"

// Solve returns bins that hold the items of p at a low total cost. The package comment describes the method.
func Solve(p *Problem, o Options) *Solution {
	in := newInstance(p, o)
	items := in.packable()
	bins := in.pack(items)
	if unfair(items) {
		for _, b := range bins {
			b.move(-1)
		}
		bins = in.packByPriority(items)
	}
	return in.solution(bins)
}

// pack packs the items by construction, column generation and improvement. It returns one pattern for each bin.
func (in *instance) pack(items []*item) []*pattern {
	s := newSearch(in, items)
	if s == nil {
		return nil
	}
	bins := s.construct()
	if in.paid && !in.options.Fast {
		return in.improveRest(items, bins)
	}
	return s.improve(s.generateColumns(bins))
}

// improveRest packs the copies in bins without a supply again, as if there were no supplies, and returns all bins.
func (in *instance) improveRest(items []*item, bins []*pattern) []*pattern {
	if slices.ContainsFunc(in.catalogs, func(c *catalog) bool { return len(c.left) > 0 }) {
		return bins // improve does nothing with budgets
	}
	var kept, rest []*pattern
	before := 0.0
	for _, p := range bins {
		if p.catalog.types[p.typ].Supply >= 0 {
			kept = append(kept, p)
			continue
		}
		rest, before = append(rest, p), before+p.offers.price[p.typ]+in.problem.Fee
		p.move(-1)
	}
	items = slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.left == 0 })
	left := in.closeSupplies()
	s := newSearch(in, items)
	if s == nil {
		return bins
	}
	again := s.improve(s.generateColumns(s.construct()))
	after := 0.0
	for _, p := range again {
		after += p.offers.price[p.typ] + in.problem.Fee
	}
	in.openSupplies(left)
	if after < before*(1-same) && !s.demand.hasRemaining() {
		return append(kept, again...)
	}
	for _, p := range again {
		p.move(-1)
	}
	for _, p := range rest {
		p.move(1)
	}
	return bins
}

// closeSupplies excludes the types with a supply from later searches, and returns what was left of the supplies. There must
// be no budgets. openSupplies undoes it.
func (in *instance) closeSupplies() (left []int) {
	for _, c := range in.catalogs { // all catalogs share the supplies
		if left == nil {
			left = slices.Clone(c.supplies)
		}
		clear(c.supplies)
		c.limited, c.closed = false, true
	}
	return left
}

func (in *instance) openSupplies(left []int) {
	for _, c := range in.catalogs {
		copy(c.supplies, left)
		c.limited, c.closed = true, false
	}
}

// packByPriority packs the items of each priority in turn, highest first, by construction only. The items must be
// ordered by falling priority. It returns one pattern for each bin.
func (in *instance) packByPriority(items []*item) []*pattern {
	var bins []*pattern
	for len(items) > 0 {
		n := slices.IndexFunc(items, func(it *item) bool { return it.Priority != items[0].Priority })
		if n < 0 {
			n = len(items)
		}
		bins = append(bins, newSearch(in, items[:n]).construct()...)
		items = items[n:]
	}
	return bins
}

// unfair reports whether a copy is packed although a copy of an item with higher priority is in no bin. The items must
// be ordered by falling priority.
func unfair(items []*item) bool {
	for i, it := range items {
		if it.left > 0 {
			return slices.ContainsFunc(items[i:], func(o *item) bool {
				return o.Priority < it.Priority && o.left < o.Copies
			})
		}
	}
	return false
}

// solution returns the Solution with one bin for each of the patterns.
func (in *instance) solution(bins []*pattern) *Solution {
	out := &Solution{Left: make([]int, len(in.items))}
	known := map[*pattern]*Bin{}
	for _, p := range bins {
		b := known[p]
		if b == nil {
			b = p.bin()
			known[p] = b
		}
		out.Bins = append(out.Bins, b)
		out.Cost += b.Price + in.problem.Fee
	}
	for i := range in.items {
		out.Left[i] = in.items[i].left
	}
	return out
}

func (p *pattern) bin() *Bin {
	b := &Bin{Catalog: p.catalog.index, Type: p.typ, Offers: p.offers.id, Price: p.offers.price[p.typ], Charge: p.charged()}
	for _, x := range p.parts {
		b.Parts = append(b.Parts, Part{Item: x.item.index, Copies: x.n})
	}
	return b
}
