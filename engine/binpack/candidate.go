package binpack

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/lp"
)

// A candidate is a bin type that holds a copy of some item type.
type candidate struct {
	index    int
	catalog  *catalog
	typ      int
	capacity []float64 // by dimension in units, followed by the scarce cardinalities
	price    float64   // the lowest of any item type
	holds    int       // how many item types it holds
	// charge is the price to each group that has copies left, +Inf to a group of which it holds nothing.
	charge []float64
	groups lp.GroupSet // those with a charge
	// best is the highest dual price of each dimension for any of its groups; value is that of the whole capacity.
	best  []float64
	value float64
	first []float64 // best as it was found first
	bound float64   // no pattern of the candidate holds more value per dollar
}

// soldOut reports whether budget or supply allow no more bins of the candidate.
func (c *candidate) soldOut() bool { return c.catalog.soldOut(c.typ) }

// candidates are the candidates of one search, the one with the highest bound first.
type candidates struct {
	catalogs []*catalog
	demand   *demand
	width    int // dimensions and scarce cardinalities
	list     []*candidate
	sorted   int     // how many of list are in their place, the first ones; see at
	ranked   float64 // the total value below which bounds are to be found anew
	total    float64 // the total value when they were last found
	uses     []use
}

// A use is the item types of one group that go into a catalog's bins under one offer set, with the types that hold some of them.
type use struct {
	offers *offerSet
	group  int
	types  Bits
}

func newCandidates(in *instance, d *demand) *candidates {
	c := &candidates{catalogs: in.catalogs, demand: d, width: in.problem.Dimensions + len(d.scarce)}
	for _, cat := range in.catalogs {
		var held tally
		for _, t := range d.types {
			if f := &t.fit.on[cat.index]; f.offers != nil {
				held.add(f.types)
			}
		}
		uses := c.usesOf(cat)
		for j := range cat.types {
			n := held.of(j)
			if n == 0 {
				continue
			}
			x := &candidate{catalog: cat, typ: j, price: math.Inf(1), holds: n, capacity: slices.Clone(cat.scaled[j])}
			for _, s := range d.scarce {
				x.capacity = append(x.capacity, float64(s.each))
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
	if d.groups == 1 { // with more, what is dominated for one group may serve another
		c.recharge(0)
		c.list = undominated(c.list, func(x *candidate) bool {
			return len(x.catalog.left) == 0 && x.catalog.types[x.typ].Supply < 0
		})
		for i, x := range c.list {
			x.index = i // what is dropped remains an option of the bins that are opened
		}
	}
	return c
}

// usesOf returns the uses of a catalog, for the item types that have copies left. The result is good until the next call.
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
			out = append(out, use{offers: f.offers, group: t.group, types: NewBits(len(cat.types))})
		}
		for w, v := range f.types {
			out[i].types[w] |= v
		}
	}
	c.uses = out
	return out
}

// relevant returns the open candidates of which the dual needs a row. The rows of dominated ones follow from others.
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

// undominated returns the candidates of the list for which no cheaper one holds whatever they hold and charges no group more,
// of those that may dominate others. The list is in order of index.
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

// dominates reports whether c holds whatever the other one holds and charges no group more.
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
	return containsAll(c.catalog.types[c.typ].Includes, c.catalog.types[other.typ].Includes)
}

// recharge finds what each candidate charges the groups that have copies left. A bin costs the fee besides.
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

// appendBins appends the candidate to out at each of the prices that its groups pay, with the groups that pay no more.
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

// value sets the dual prices of each candidate.
func (c *candidates) value(prices [][]float64) {
	for _, x := range c.list {
		if x.best == nil {
			x.best = make([]float64, c.width)
		}
		lp.Ceiling(x.best, x.groups, prices)
		x.value = dot(x.best, x.capacity)
	}
}

// rank orders the candidates by the most value that a dollar can buy there, the largest of equals first.
func (c *candidates) rank(fee float64) {
	c.ranked, c.total = 0, c.demand.total
	for _, x := range c.list {
		x.bound = min(x.value, c.demand.total) / (x.price + fee)
		c.ranked = max(c.ranked, x.value)
	}
	c.sorted = 0
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

// chunk is how many further candidates are sorted at a time. A search for a pattern seldom looks at more.
const chunk = 16

// at returns the i-th candidate by rank. The list is sorted only as far as it is asked for.
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

// byRank returns all candidates by rank.
func (c *candidates) byRank() []*candidate {
	if c.sorted < len(c.list) {
		slices.SortFunc(c.list[c.sorted:], compareRank)
		c.sorted = len(c.list)
	}
	return c.list
}

// selectFirst moves the first n candidates by rank to the front of the list, in any order (Hoare's quickselect).
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
