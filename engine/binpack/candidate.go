package binpack

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/lp"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// A candidate is a bin type that holds at least one copy of some item type. It carries prices and bounds.
type candidate struct {
	index    int
	catalog  *catalog
	typ      int
	capacity []float64 // by dimension in units, then by scarce cardinality
	price    float64   // the cheapest offer that any item type may use, without the fee
	holds    int       // the number of item types of which a bin holds a copy
	// charge[g] is the price of a bin for items of price group g (see doc.go), with the fee. It is +Inf if the bin
	// holds no copy left of the group.
	charge []float64
	groups lp.GroupSet // the price groups g with a finite charge[g]
	// best[d] is the highest dual price in dimension d of any group of the set groups. value is the inner product of
	// best and capacity. It bounds the value of any pattern in a bin.
	best  []float64
	value float64
	first []float64 // best at the first dual prices
	bound float64   // value per dollar: an upper bound on the ratio of any pattern in a bin
}

// soldOut reports whether the budget or the supply admits no further bin of the candidate.
func (c *candidate) soldOut() bool { return c.catalog.soldOut(c.typ) }

// candidates are all candidates of one search.
type candidates struct {
	catalogs []*catalog
	demand   *demand
	width    int          // the number of dimensions plus the number of scarce cardinalities
	list     []*candidate // in order of compareRank as far as sorted
	sorted   int          // the number of candidates at the front of list that are in order, see at
	byPrice  []*candidate // the same by rising price
	highest  float64      // the highest value of a candidate
	uses     []use
}

// A use stands for all item types of one price group that may use one offer set in a catalog. types are the bin types
// that hold a copy of at least one of them.
type use struct {
	offers *offerSet
	group  int
	types  typeset.Set
}

func newCandidates(in *instance, d *demand) *candidates {
	c := &candidates{catalogs: in.catalogs, demand: d, width: in.problem.Dimensions + len(d.scarce)}
	for _, cat := range in.catalogs {
		var held typeset.Tally
		for _, t := range d.types {
			if f := &t.fit.on[cat.index]; f.offers != nil {
				held.Count(f.types)
			}
		}
		uses := c.usesOf(cat)
		for j := range cat.types {
			n := held.Of(j)
			if n == 0 {
				continue
			}
			x := &candidate{catalog: cat, typ: j, price: math.Inf(1), holds: n, capacity: slices.Clone(cat.scaled[j])}
			for _, s := range d.scarce {
				x.capacity = append(x.capacity, float64(s.max))
			}
			for i := range uses {
				if u := &uses[i]; u.types.Has(j) {
					x.price = min(x.price, u.offers.price[j])
				}
			}
			c.list = append(c.list, x)
		}
	}
	for i, x := range c.list {
		x.index = i
	}
	if d.groups == 1 { // with several groups, a type dominated for one group may be the best for another
		c.recharge(0)
		c.list = undominated(c.list, func(x *candidate) bool {
			return len(x.catalog.left) == 0 && x.catalog.types[x.typ].Supply < 0
		})
		for i, x := range c.list {
			x.index = i // dropped types can still become options of an opened bin
		}
	}
	c.byPrice = slices.Clone(c.list)
	slices.SortStableFunc(c.byPrice, func(a, b *candidate) int { return cmp.Compare(a.price, b.price) })
	return c
}

// usesOf returns the uses of a catalog by item types that have copies left. The next call overwrites the result.
func (c *candidates) usesOf(cat *catalog) []use {
	out := c.uses[:0]
	for _, t := range c.demand.types {
		f := &t.fit.on[cat.index]
		if t.left == 0 || f.offers == nil {
			continue
		}
		i := slices.IndexFunc(out, func(u use) bool { return u.offers == f.offers && u.group == t.group })
		if i < 0 {
			i = len(out)
			out = append(out, use{offers: f.offers, group: t.group, types: typeset.New(len(cat.types))})
		}
		for w, v := range f.types {
			out[i].types[w] |= v
		}
	}
	c.uses = out
	return out
}

// relevant returns the candidates that the linear program needs as bins, among those that open accepts. It omits
// dominated candidates, because their dual constraints follow from others.
func (c *candidates) relevant(open func(*candidate) bool) []*candidate {
	var list []*candidate
	for _, x := range c.list {
		if x.groups != 0 && open(x) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *candidate) int { return a.index - b.index })
	return undominated(list, func(*candidate) bool { return true })
}

// undominated returns the candidates of the list that no other candidate of it dominates (see dominates). Only a
// candidate for which mayDominate is true can remove others. The list and the result are in order of index.
func undominated(list []*candidate, mayDominate func(*candidate) bool) []*candidate {
	byPrice := slices.Clone(list)
	slices.SortStableFunc(byPrice, func(a, b *candidate) int { return cmp.Compare(slices.Min(a.charge), slices.Min(b.charge)) })
	var kept, rivals []*candidate
	for _, x := range byPrice {
		if slices.ContainsFunc(rivals, func(o *candidate) bool { return o.dominates(x) }) {
			continue
		}
		kept = append(kept, x)
		if mayDominate(x) {
			rivals = append(rivals, x)
		}
	}
	slices.SortFunc(kept, func(a, b *candidate) int { return a.index - b.index })
	return kept
}

// dominates reports whether c holds every pattern that the other candidate holds, and charges no price group more.
func (c *candidate) dominates(other *candidate) bool {
	if c.catalog != other.catalog || c.holds < other.holds {
		return false
	}
	for r, v := range other.capacity {
		if v > c.capacity[r] {
			return false
		}
	}
	for g, v := range other.charge {
		if c.charge[g] > v {
			return false
		}
	}
	return typeset.ContainsAll(c.catalog.types[c.typ].Includes, c.catalog.types[other.typ].Includes)
}

// recharge recomputes charge and groups of each candidate from the item types that have copies left. The fee is added
// to each price.
func (c *candidates) recharge(fee float64) {
	for _, x := range c.list {
		if x.charge == nil {
			x.charge = make([]float64, c.demand.groups)
		}
		for g := range x.charge {
			x.charge[g] = math.Inf(1)
		}
	}
	for _, cat := range c.catalogs {
		uses := c.usesOf(cat)
		for _, x := range c.list {
			if x.catalog != cat {
				continue
			}
			for i := range uses {
				if u := &uses[i]; u.types.Has(x.typ) {
					x.charge[u.group] = min(x.charge[u.group], u.offers.price[x.typ]+fee)
				}
			}
		}
	}
	for _, x := range c.list {
		x.groups = 0
		for g, v := range x.charge {
			if !math.IsInf(v, 1) {
				x.groups |= 1 << g
			}
		}
	}
}

// appendBins appends the candidate to out once for each distinct finite charge. Each such bin admits the price groups
// whose charge is at most its price.
func (c *candidate) appendBins(out []lp.CoverBin) []lp.CoverBin {
	from := len(out)
	for _, level := range c.charge {
		if math.IsInf(level, 1) || slices.ContainsFunc(out[from:], func(b lp.CoverBin) bool { return b.Price == level }) {
			continue
		}
		b := lp.CoverBin{Key: c.index, Capacity: c.capacity, Price: level}
		for g, v := range c.charge {
			if v <= level {
				b.Groups |= 1 << g
			}
		}
		out = append(out, b)
	}
	return out
}

// value computes best and value of each candidate from the dual prices, which are by price group and dimension.
func (c *candidates) value(prices [][]float64) {
	ceilings := map[lp.GroupSet][]float64{} // most candidates have equal groups
	for _, x := range c.list {
		best, ok := ceilings[x.groups]
		if !ok {
			best = make([]float64, c.width)
			lp.Ceiling(best, x.groups, prices)
			ceilings[x.groups] = best
		}
		x.best, x.value = best, vector.Dot(best, x.capacity)
	}
}

// rank recomputes the bounds of all candidates after their values changed.
func (c *candidates) rank(fee float64) {
	c.highest, c.sorted = 0, 0
	for _, x := range c.list {
		x.bound = x.value / (x.price + fee)
		c.highest = max(c.highest, x.value)
	}
}

// compareRank orders candidates by falling bound, then by falling value, then by index.
func compareRank(a, b *candidate) int {
	switch {
	case a.bound != b.bound:
		return cmp.Compare(b.bound, a.bound)
	case a.value != b.value:
		return cmp.Compare(b.value, a.value)
	}
	return a.index - b.index
}

// chunk is the number of candidates that at sorts at once. A search for a pattern seldom needs more.
const chunk = 16

// at returns the candidate with rank i (see compareRank). It sorts the list only as far as necessary.
func (c *candidates) at(i int) *candidate {
	for c.sorted <= i {
		rest := c.list[c.sorted:]
		n := min(chunk, len(rest))
		selectFirst(rest, n)
		slices.SortFunc(rest[:n], compareRank)
		c.sorted += n
	}
	return c.list[i]
}

// A walk visits the candidates by falling upper bound on the ratio of a pattern. No pattern is worth more than total,
// the value of all copies left. A candidate whose value exceeds total has the bound total / (price + fee).
type walk struct {
	candidates *candidates
	total, fee float64
	next       int // position in list, for candidates with a value of at most total
	capped     int // position in byPrice, for the others
}

func (c *candidates) walk(total, fee float64) walk {
	w := walk{candidates: c, total: total, fee: fee}
	if total >= c.highest {
		w.capped = len(c.byPrice)
	}
	return w
}

// step returns the next candidate and its bound, nil at the end.
func (w *walk) step() (*candidate, float64) {
	c := w.candidates
	for w.next < len(c.list) && c.at(w.next).value > w.total {
		w.next++
	}
	for w.capped < len(c.byPrice) && c.byPrice[w.capped].value <= w.total {
		w.capped++
	}
	if w.capped < len(c.byPrice) {
		x := c.byPrice[w.capped]
		if bound := w.total / (x.price + w.fee); w.next == len(c.list) || bound > c.list[w.next].bound {
			w.capped++
			return x, bound
		}
	}
	if w.next == len(c.list) {
		return nil, 0
	}
	w.next++
	return c.list[w.next-1], c.list[w.next-1].bound
}

// byRank returns all candidates, ordered by compareRank.
func (c *candidates) byRank() []*candidate {
	if c.sorted < len(c.list) {
		slices.SortFunc(c.list[c.sorted:], compareRank)
		c.sorted = len(c.list)
	}
	return c.list
}

// selectFirst moves the first n candidates by compareRank to the front of the list, in any order (Hoare's
// quickselect).
func selectFirst(list []*candidate, n int) {
	for len(list) > chunk && n < len(list) {
		pivot := list[len(list)/2]
		i, j := 0, len(list)-1
		for i <= j {
			for compareRank(list[i], pivot) < 0 {
				i++
			}
			for compareRank(list[j], pivot) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			list = list[:j+1]
		case n > i:
			list, n = list[i:], n-i
		default:
			return
		}
	}
	slices.SortFunc(list, compareRank)
}
