package binpack

import (
	"cmp"
	"math"
	"slices"
)

// A columnGenerator finds what copies are worth by what they fit together with, for problems of which the bins hold few copies:
// by capacity alone, a copy that leaves a gap which nothing fills is worth as much as one that leaves none.
//
// The values are the dual prices of the linear program that covers all copies by columns, sets of copies each of which fits in
// one bin, at the least cost (Gilmore and Gomory 1961):
//
//	minimise    sum over columns j of price[j]*x[j]
//	subject to  sum over j of count[j][i]*x[j] >= copies[i]   for each item type i,   x >= 0
//
// The restricted master problem has the columns that are known. Columns are priced out by the values that are known, values are
// found anew from all columns known, and so on.
type columnGenerator struct {
	search  *search
	x, y    int         // the dimensions that decide what fits; of all others there is always enough
	bins    []columnBin // those that may be worth opening, the most value per dollar first
	byPrice []columnBin // all, cheapest first
	value   []float64   // of a copy, by item type
	left    []int       // copies, by item type
	open    []entry     // the item types with copies left, most value first
	gaps    gapTable
	buf     []int64
	master  master
}

// A columnBin is a candidate of which two dimensions count.
type columnBin struct {
	x, y      int64
	price     float64
	bound     float64 // the value that a dollar buys there at most, by the dual prices of dimensions
	candidate *candidate
}

// An entry is an item type as the search for columns sees it.
type entry struct {
	x, y  int64
	value float64
	typ   int
}

const (
	// maxColumnBins is how many bins are looked at for each item type, maxPairs how many pairs of item types in all of them may
	// be looked at in a round.
	maxColumnBins = 6
	maxPairs      = 12_000_000
	// Values are found from columns, and bins then opened by them, so often: less where there is much to look at, about so many
	// pairs in all.
	minMasters, maxMasters, masterPairs = 3, 6, 2_000_000
	minPacked, maxPacked, packedPairs   = 3, 12, 3_000_000
	// columnCorrection is how far values move each time towards what copies really cost.
	columnCorrection = 0.1
)

// generateColumns returns bins for the copies in these bins that are cheaper, packed by values from column generation; nil if
// it finds none. No copy is packed before and after.
func (s *search) generateColumns(bins []*pattern) []*pattern {
	g := newColumnGenerator(s)
	if g == nil {
		return nil
	}
	g.learn(bins)
	least := costOf(bins)
	effort, pairs := s.in.options.Effort, s.pairs()
	for range effort * max(minMasters, min(maxMasters, masterPairs/pairs)) {
		g.addColumns()
		g.solveMaster(least)
	}
	var best []column
	for range effort * max(minPacked, min(maxPacked, packedPairs/pairs)) {
		if s.in.meter.exhausted() {
			break
		}
		list, cost := g.pack()
		if cost < least*(1-same) {
			best, least = list, cost
		}
		g.revalue(list)
	}
	if len(best) == 0 || len(best) > s.in.options.MaxBins {
		return nil
	}
	out := make([]*pattern, len(best))
	for i := range best {
		out[i] = g.pattern(&best[i])
		out[i].move(1) // what the next one finds is left
	}
	for _, p := range out {
		p.move(-1)
	}
	return out
}

// pairs returns how many pairs of item types in bins one round looks at, at the most.
func (s *search) pairs() int { return len(s.demand.types) * len(s.demand.types) * maxColumnBins }

// newColumnGenerator returns nil if more than two dimensions decide what fits, or there is too much to look at.
func newColumnGenerator(s *search) *columnGenerator {
	d := s.demand
	if len(d.scarce) > 0 || d.groups > 1 || s.pairs() > s.in.options.Effort*maxPairs ||
		slices.ContainsFunc(d.types, func(t *itemType) bool { return t.fit.restricted }) {
		return nil
	}
	deciding := s.decidingDimensions()
	for r := range s.in.problem.Dimensions { // two in any case, for the search to have two
		if len(deciding) < 2 && !slices.Contains(deciding, r) {
			deciding = append(deciding, r)
		}
	}
	if len(deciding) != 2 {
		return nil
	}
	g := &columnGenerator{search: s, x: deciding[0], y: deciding[1]}
	for _, c := range s.candidates.list {
		capacity := c.catalog.types[c.typ].Capacity
		b := columnBin{x: capacity[g.x], y: capacity[g.y], price: c.price + s.pricing.fee, candidate: c}
		b.bound = dot(c.first, c.capacity) / b.price
		g.byPrice = append(g.byPrice, b)
	}
	g.bins = slices.Clone(g.byPrice)
	slices.SortStableFunc(g.byPrice, func(a, b columnBin) int { return cmp.Compare(a.price, b.price) })
	slices.SortStableFunc(g.bins, func(a, b columnBin) int {
		return cmp.Or(cmp.Compare(b.bound, a.bound), cmp.Compare(b.price, a.price))
	})
	g.keepBest()
	for _, t := range d.types {
		g.value = append(g.value, t.base)
	}
	return g
}

// keepBest keeps those bins that are among the best of those that hold some item type.
func (g *columnGenerator) keepBest() {
	kept := make([]bool, len(g.bins))
	for _, t := range g.search.demand.types {
		n := 0
		for i := range g.bins {
			if b := &g.bins[i]; n < maxColumnBins && b.x >= t.demand[g.x] && b.y >= t.demand[g.y] {
				kept[i] = true
				n++
			}
		}
	}
	n := 0
	for i, b := range g.bins {
		if kept[i] {
			g.bins[n] = b
			n++
		}
	}
	g.bins = g.bins[:n]
}

// decidingDimensions returns those of which some candidate may have too little for what it holds by the others.
func (s *search) decidingDimensions() []int {
	n := s.in.problem.Dimensions
	least, most := make([]int64, n), make([]int64, n)
	var out []int
	for r := range n {
		out = append(out, r)
		least[r] = math.MaxInt64
		for _, t := range s.demand.types {
			least[r], most[r] = min(least[r], t.demand[r]), max(most[r], t.demand[r])
		}
	}
	for r := n - 1; r >= 0; r-- {
		tooLittle := func(c *candidate) bool {
			capacity, copies := c.catalog.types[c.typ].Capacity, int64(math.MaxInt64)
			for _, o := range out {
				if o != r && least[o] > 0 {
					copies = min(copies, max(capacity[o], 0)/least[o])
				}
			}
			return most[r] != 0 && copies > max(capacity[r], 0)/most[r]
		}
		if !slices.ContainsFunc(s.candidates.list, tooLittle) {
			out = slices.DeleteFunc(out, func(o int) bool { return o == r })
		}
	}
	return out
}

// restock makes all copies available again.
func (g *columnGenerator) restock() {
	g.left = g.left[:0]
	for _, t := range g.search.demand.types {
		g.left = append(g.left, t.left)
	}
}

// sort lists the item types with copies left, most value first.
func (g *columnGenerator) sort() {
	g.open = g.open[:0]
	for i, t := range g.search.demand.types {
		if g.left[i] > 0 {
			g.open = append(g.open, entry{x: t.demand[g.x], y: t.demand[g.y], value: g.value[i], typ: i})
		}
	}
	slices.SortFunc(g.open, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.value, a.value), a.typ-b.typ)
	})
	g.buf = g.gaps.set(g.open, g.buf)
}

// cheapest returns the cheapest bin with so much capacity.
func (g *columnGenerator) cheapest(x, y int64) *columnBin {
	for i := range g.byPrice {
		if b := &g.byPrice[i]; b.x >= x && b.y >= y {
			return b
		}
	}
	return nil
}
