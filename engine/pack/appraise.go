package pack

import (
	"cmp"
	"math"
	"slices"
)

// An appraiser finds what units are worth by what they fit together with, for plans of which the nodes hold few units: by the
// resources alone, a unit that leaves a gap which nothing fills is worth as much as one that leaves none.
//
// The worths are the dual prices of the linear programme that covers all units by sets of units, each of which fits on one
// shape, at the least cost (Gilmore and Gomory 1961). Sets are looked for by the worths that are known, the worths are found
// anew from all sets known, and so on (column generation).
type appraiser struct {
	t       *tier
	x, y    int       // the columns that decide what fits; of all others there is always enough
	bins    []bin     // those that may be worth opening, the most worth per dollar first
	byPrice []bin     // all, cheapest first
	worth   []float64 // of a unit, by kind
	left    []int     // units, by kind
	open    []article // the kinds with units left, most worth first
	gaps    gaps
	buf     []int64
	pool    setPool
}

// A bin is a shape on offer, of which two columns count.
type bin struct {
	x, y  int64
	price float64
	bound float64 // what a dollar buys there at most, by the worths of resources
	shop  *shop
}

// An article is a kind as the search looks at it.
type article struct {
	x, y  int64
	value float64
	kind  int
}

// maxBins is how many bins are looked at for each article, maxPairs how many pairs of kinds in all of them may be looked at in a
// round.
const (
	maxBins  = 6
	maxPairs = 12_000_000
)

// newAppraiser returns nil if more than two columns matter, or there is too much to look at.
func newAppraiser(t *tier) *appraiser {
	a := &appraiser{t: t}
	if len(t.caps) > 0 || t.groups > 1 || t.pairs() > t.opts.Effort*maxPairs || slices.ContainsFunc(t.kinds, func(k *kind) bool { return k.fit.picky }) {
		return nil
	}
	matter := t.mattering()
	if len(matter) > 2 {
		return nil
	}
	for r := range t.cols { // two columns in any case, for the search to have two
		if len(matter) < 2 && !slices.Contains(matter, r) {
			matter = append(matter, r)
		}
	}
	if len(matter) < 2 {
		return nil
	}
	a.x, a.y = matter[0], matter[1]
	for _, s := range t.shops {
		room := s.shelf.pool.shapes[s.shape].room
		b := bin{x: room[a.x], y: room[a.y], price: s.price + t.fee, shop: s}
		b.bound = dot(s.first, s.room) / b.price
		a.byPrice = append(a.byPrice, b)
	}
	a.bins = slices.Clone(a.byPrice)
	slices.SortStableFunc(a.byPrice, func(a, b bin) int { return cmp.Compare(a.price, b.price) })
	slices.SortStableFunc(a.bins, func(a, b bin) int {
		return cmp.Or(cmp.Compare(b.bound, a.bound), cmp.Compare(b.price, a.price))
	})
	a.choose()
	for _, k := range t.kinds {
		a.worth = append(a.worth, k.base)
	}
	return a
}

// pairs returns how many pairs of kinds in bins one round looks at, at the most.
func (t *tier) pairs() int { return len(t.kinds) * len(t.kinds) * maxBins }

// choose keeps those bins that are the best of those that hold some kind.
func (a *appraiser) choose() {
	kept := make([]bool, len(a.bins))
	for _, k := range a.t.kinds {
		n := 0
		for i := range a.bins {
			if b := &a.bins[i]; n < maxBins && b.x >= k.amount[a.x] && b.y >= k.amount[a.y] {
				kept[i] = true
				n++
			}
		}
	}
	n := 0
	for i, b := range a.bins {
		if kept[i] {
			a.bins[n] = b
			n++
		}
	}
	a.bins = a.bins[:n]
}

// mattering returns the columns of which some shape may have too little for what it holds by the others.
func (t *tier) mattering() []int {
	least, most := make([]int64, len(t.cols)), make([]int64, len(t.cols))
	var out []int
	for r := range t.cols {
		out = append(out, r)
		least[r] = math.MaxInt64
		for _, k := range t.kinds {
			least[r], most[r] = min(least[r], k.amount[r]), max(most[r], k.amount[r])
		}
	}
	for r := len(t.cols) - 1; r >= 0; r-- {
		enough := func(s *shop) bool {
			room, units := s.shelf.pool.shapes[s.shape].room, int64(math.MaxInt64)
			for _, c := range out {
				if c != r && least[c] > 0 {
					units = min(units, max(room[c], 0)/least[c])
				}
			}
			return most[r] == 0 || units <= max(room[r], 0)/most[r]
		}
		if !slices.ContainsFunc(t.shops, func(s *shop) bool { return !enough(s) }) {
			out = slices.DeleteFunc(out, func(c int) bool { return c == r })
		}
	}
	return out
}

// restock makes all units available again.
func (a *appraiser) restock() {
	a.left = a.left[:0]
	for _, k := range a.t.kinds {
		a.left = append(a.left, k.left)
	}
}

// sort lists the kinds with units left, most worth first.
func (a *appraiser) sort() {
	a.open = a.open[:0]
	for i, k := range a.t.kinds {
		if a.left[i] > 0 {
			a.open = append(a.open, article{x: k.amount[a.x], y: k.amount[a.y], value: a.worth[i], kind: i})
		}
	}
	slices.SortFunc(a.open, func(p, q article) int {
		return cmp.Or(cmp.Compare(q.value, p.value), p.kind-q.kind)
	})
	a.buf = a.gaps.set(a.open, a.buf)
}

// cheapest returns the cheapest bin with so much room.
func (a *appraiser) cheapest(x, y int64) *bin {
	for i := range a.byPrice {
		if b := &a.byPrice[i]; b.x >= x && b.y >= y {
			return b
		}
	}
	return nil
}
