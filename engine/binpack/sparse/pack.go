package sparse

import (
	"cmp"
	"slices"
)

// An Item is a number of identical copies to pack.
type Item struct {
	X, Y   int64   // the demand of one copy in the two dimensions
	Copies int     // at least 1
	Value  float64 // the initial value of one copy, in dollars per hour
}

// A Bin is a bin type. Every item must fit in at least one bin type.
type Bin struct {
	X, Y     int64   // the capacity in the two dimensions
	Price    float64 // with the fee, in dollars per hour
	MaxRatio float64 // an upper bound on the value per dollar of any pattern in this bin type, at the values in Item.Value
}

// A Pattern is a set of at most maxSize copies that share one bin, of the cheapest type that holds them.
type Pattern struct {
	Bin   int   // index of the bin type
	Items []int // for each copy, the index of its item
}

const (
	// maxSize is the largest number of copies in a pattern.
	maxSize = 8
	// binsPerItem is the largest number of bin types that the search considers for each item. maxPairs is the largest
	// result of pairs for which Feasible is true.
	binsPerItem = 6
	maxPairs    = 12_000_000
	// Pack makes roundPairs / pairs(n) rounds of column generation for n items, but at least minRounds and at most maxRounds.
	// Then it makes packingPairs / pairs(n) packings, within their bounds.
	minRounds, maxRounds, roundPairs       = 3, 6, 2_000_000
	minPackings, maxPackings, packingPairs = 5, 24, 6_000_000
	// correction is the share of the difference to the actual cost by which revalue changes a value.
	correction = 0.1
	// same is the relative difference up to which two prices or ratios are regarded as equal.
	same = 1e-6
)

// pairs estimates how many pairs of items one packing evaluates, over all bin types, if each item begins one pattern. If
// items begin several patterns, because they have many copies, there are more pairs.
func pairs(items int) int { return items * items * binsPerItem }

// Feasible reports whether Pack may be called with this number of items: a larger number would take too long.
func Feasible(items int) bool { return pairs(items) <= maxPairs }

// A packer is the state of one call of Pack.
type packer struct {
	items            []Item
	bins             []Bin
	byRatio, byPrice []int     // the indices of bins: by falling MaxRatio, then by falling price; by rising price
	value            []float64 // value[i] is the current value of item i, in dollars per hour
	left             []int     // left[i] is the number of remaining copies of item i
	entries          []entry   // the items with remaining copies, by falling value; set by listEntries
	gaps             gapTable
	master           master
}

// An entry is an item in packer.entries: its demand (x, y), its current value and its index.
type entry struct {
	x, y  int64
	value float64
	item  int
}

// Pack returns patterns that pack all copies and cost less than incumbent in total: the price of a known packing. It returns an
// empty list if it finds none.
func Pack(items []Item, bins []Bin, incumbent float64) []Pattern {
	g := newPacker(items, bins)
	var best []Pattern
	packOnce := func() []Pattern {
		list, cost := g.pack()
		if cost < incumbent*(1-same) {
			best, incumbent = list, cost
		}
		return list
	}
	for _, c := range packOnce() {
		g.master.add(c.Items, bins[c.Bin].Price, items)
	}
	n := pairs(len(items))
	for range max(minRounds, min(maxRounds, roundPairs/n)) {
		g.addPatterns()
		g.solveMaster(incumbent)
	}
	for range max(minPackings, min(maxPackings, packingPairs/n)) {
		g.revalue(packOnce())
	}
	return best
}

func newPacker(items []Item, bins []Bin) *packer {
	g := &packer{items: items, bins: bins}
	for i := range bins {
		g.byPrice = append(g.byPrice, i)
	}
	byRatio := slices.Clone(g.byPrice)
	slices.SortStableFunc(g.byPrice, func(a, b int) int { return cmp.Compare(bins[a].Price, bins[b].Price) })
	slices.SortStableFunc(byRatio, func(a, b int) int {
		return cmp.Or(cmp.Compare(bins[b].MaxRatio, bins[a].MaxRatio), cmp.Compare(bins[b].Price, bins[a].Price))
	})
	used := make([]bool, len(bins)) // by some item, see binsPerItem
	for _, it := range items {
		g.value = append(g.value, it.Value)
		n := 0
		for _, i := range byRatio {
			if n < binsPerItem && bins[i].X >= it.X && bins[i].Y >= it.Y {
				used[i] = true
				n++
			}
		}
	}
	g.byRatio = slices.DeleteFunc(byRatio, func(i int) bool { return !used[i] })
	return g
}

// resetCopies makes all copies remaining, and rebuilds entries.
func (g *packer) resetCopies() {
	g.left = g.left[:0]
	for i := range g.items {
		g.left = append(g.left, g.items[i].Copies)
	}
	g.listEntries()
}

// listEntries rebuilds entries, and the gap table for it.
func (g *packer) listEntries() {
	g.entries = g.entries[:0]
	for i, it := range g.items {
		if g.left[i] > 0 {
			g.entries = append(g.entries, entry{x: it.X, y: it.Y, value: g.value[i], item: i})
		}
	}
	slices.SortFunc(g.entries, func(a, b entry) int { return cmp.Or(cmp.Compare(b.value, a.value), a.item-b.item) })
	g.gaps.set(g.entries)
}

// maxGone is the largest share of entries that may have no remaining copies. If it is exceeded, pack rebuilds
// entries.
const maxGone = 0.125

// pack packs all copies greedily, and returns the patterns and their total price. Until all copies are packed, it takes the
// most valuable remaining one and adds the pattern that bestAround finds for it.
func (g *packer) pack() (list []Pattern, cost float64) {
	g.resetCopies()
	gone, first := 0, 0
	for {
		for first < len(g.entries) && g.left[g.entries[first].item] == 0 {
			first++
		}
		if first == len(g.entries) {
			return list, cost
		}
		if float64(gone) > maxGone*float64(len(g.entries)) {
			g.listEntries()
			gone, first = 0, 0
		}
		c := g.bestAround(first)
		for _, t := range c.Items {
			if g.left[t]--; g.left[t] == 0 {
				gone++
			}
		}
		list, cost = append(list, c), cost+g.bins[c.Bin].Price
	}
}

// bestAround returns the pattern with the highest ratio (value per dollar) that it finds. The pattern contains a copy of
// entries[first], and otherwise only copies of this and later entries. bestAround searches the first binsPerItem bin types by
// ratio that hold entries[first].
func (g *packer) bestAround(first int) Pattern {
	var best entrySet
	ratio, tries := 0.0, 0
	for _, i := range g.byRatio {
		b := &g.bins[i]
		if b.X < g.entries[first].x || b.Y < g.entries[first].y {
			continue
		}
		if tries++; tries > binsPerItem {
			break
		}
		f := g.pairUp(b, first, ratio, nil)
		if f.size == 0 {
			continue
		}
		if r := f.ratio * b.Price / g.bins[g.cheapest(&f)].Price; best.size == 0 || r > ratio*(1+same) {
			best, ratio = f, r
		}
	}
	return g.patternOf(&best)
}

// patternOf returns the pattern of the set, in the cheapest bin type that holds it.
func (g *packer) patternOf(f *entrySet) Pattern {
	out := Pattern{Bin: g.cheapest(f), Items: make([]int, f.size)}
	for k, m := range f.member[:f.size] {
		out.Items[k] = g.entries[m].item
	}
	return out
}

// cheapest returns the index of the cheapest bin type that holds the set.
func (g *packer) cheapest(f *entrySet) int {
	var x, y int64
	for _, m := range f.member[:f.size] {
		x, y = x+g.entries[m].x, y+g.entries[m].y
	}
	return g.byPrice[slices.IndexFunc(g.byPrice, func(i int) bool { return g.bins[i].X >= x && g.bins[i].Y >= y })]
}

// revalue moves the value of each item towards the mean cost of its copies in these patterns (see correction). The price of
// a pattern is divided among its copies in proportion to their values.
func (g *packer) revalue(list []Pattern) {
	paid := make([]float64, len(g.value))
	for _, c := range list {
		held := 0.0
		for _, t := range c.Items {
			held += g.value[t]
		}
		for _, t := range c.Items {
			paid[t] += g.value[t] * g.bins[c.Bin].Price / held
		}
	}
	for i, it := range g.items {
		g.value[i] += float64(correction * (paid[i]/float64(it.Copies) - g.value[i]))
	}
}
