package colgen

import (
	"cmp"
	"slices"
)

// An Item is a number of identical copies.
type Item struct {
	X, Y   int64   // what a copy demands
	Copies int     // at least 1
	Value  float64 // of a copy in dollars per hour, as a first guess
}

// A Bin is a bin type. Every item fits in some bin.
type Bin struct {
	X, Y  int64 // capacity
	Price float64
	Bound float64 // the value that a dollar buys there at most, by the first guess
}

// A Column is copies that share a bin.
type Column struct {
	Bin   int   // index of the bin type
	Items []int // index of the item of each copy
}

// Options bounds the work.
type Options struct {
	Effort int                  // scales the number of rounds; at least 1
	Spend  func(steps int) bool // is told of elementary steps, and returns false when there must be no more
}

const (
	// maxSize bounds how many copies a column has that the search finds.
	maxSize = 8
	// binsPerItem is how many bins are looked at for each item, MaxPairs how many pairs of items in all of them may be looked at
	// in a round for one unit of effort.
	binsPerItem = 6
	maxPairs    = 12_000_000
	// Values are found from columns, and bins then opened by them, so often: less where there is much to look at, about so many
	// pairs in all.
	minRounds, maxRounds, roundPairs   = 3, 6, 2_000_000
	minPackings, maxPackings, packings = 5, 24, 6_000_000
	// correction is how far values move each time towards what copies really cost.
	correction = 0.1
	// same is the relative difference below which two prices or ratios count as equal.
	same = 1e-6
)

// pairs returns how many pairs of items in bins one round looks at, at the most.
func pairs(items int) int { return items * items * binsPerItem }

// Feasible reports whether so many items are not too many to look at.
func Feasible(items, effort int) bool { return pairs(items) <= effort*maxPairs }

// A generator is Generate at work.
type generator struct {
	items   []Item
	spend   func(int) bool
	bins    []bin // those that may be worth opening, the most value per dollar first
	byPrice []bin // all, cheapest first
	value   []float64
	left    []int   // copies, by item
	open    []entry // the items with copies left, most value first
	gaps    gapTable
	buf     []int64
	master  master
}

// A bin is a Bin and its index.
type bin struct {
	Bin
	index int
}

// An entry is an item as the search sees it.
type entry struct {
	x, y  int64
	value float64
	item  int
}

// A packed column is a column with the cheapest bin that holds it.
type packed struct {
	bin    *bin
	size   int
	member [maxSize]int32 // items
}

// Generate returns columns that pack all copies at less than the cost of the incumbent, nil if it finds none. Prices of the
// incumbent's columns are given beside.
func Generate(items []Item, bins []Bin, incumbent []Column, prices []float64, o Options) []Column {
	g := newGenerator(items, bins, o.Spend)
	least := 0.0
	for i, c := range incumbent {
		g.master.add(int32s(c.Items), prices[i], items)
		least += prices[i]
	}
	n := pairs(len(items))
	for range o.Effort * max(minRounds, min(maxRounds, roundPairs/n)) {
		g.addColumns()
		g.solveMaster(least)
	}
	var best []packed
	for range o.Effort * max(minPackings, min(maxPackings, packings/n)) {
		if !g.spend(len(items)) {
			break
		}
		list, cost := g.pack()
		if cost < least*(1-same) {
			best, least = list, cost
		}
		g.revalue(list)
	}
	out := make([]Column, len(best))
	for i := range best {
		out[i].Bin = best[i].bin.index
		for _, m := range best[i].member[:best[i].size] {
			out[i].Items = append(out[i].Items, int(m))
		}
	}
	return out
}

func int32s(list []int) []int32 {
	out := make([]int32, len(list))
	for i, v := range list {
		out[i] = int32(v)
	}
	return out
}

func newGenerator(items []Item, bins []Bin, spend func(int) bool) *generator {
	g := &generator{items: items, spend: spend}
	for i, b := range bins {
		g.byPrice = append(g.byPrice, bin{b, i})
	}
	byBound := slices.Clone(g.byPrice)
	slices.SortStableFunc(g.byPrice, func(a, b bin) int { return cmp.Compare(a.Price, b.Price) })
	slices.SortStableFunc(byBound, func(a, b bin) int {
		return cmp.Or(cmp.Compare(b.Bound, a.Bound), cmp.Compare(b.Price, a.Price))
	})
	kept := make([]bool, len(bins)) // those that are among the best of those that hold some item
	for _, it := range items {
		n := 0
		for i := range byBound {
			if b := &byBound[i]; n < binsPerItem && b.X >= it.X && b.Y >= it.Y {
				kept[i] = true
				n++
			}
		}
		g.value = append(g.value, it.Value)
	}
	for i, b := range byBound {
		if kept[i] {
			g.bins = append(g.bins, b)
		}
	}
	return g
}

// restock makes all copies available again and lists the items.
func (g *generator) restock() {
	g.left = g.left[:0]
	for i := range g.items {
		g.left = append(g.left, g.items[i].Copies)
	}
	g.list()
}

// list lists the items with copies left, most value first.
func (g *generator) list() {
	g.open = g.open[:0]
	for i, it := range g.items {
		if g.left[i] > 0 {
			g.open = append(g.open, entry{x: it.X, y: it.Y, value: g.value[i], item: i})
		}
	}
	slices.SortFunc(g.open, func(a, b entry) int { return cmp.Or(cmp.Compare(b.value, a.value), a.item-b.item) })
	g.buf = g.gaps.set(g.open, g.buf)
}

// staleShare is the share of the items, one in so many, that may be packed before what is left is listed anew.
const staleShare = 8

// pack opens bin after bin: around the most valuable copy left, with what makes most of a dollar. It returns what shares a bin,
// and what all bins cost.
func (g *generator) pack() (list []packed, cost float64) {
	g.restock()
	gone, first := 0, 0
	for {
		for first < len(g.open) && g.left[g.open[first].item] == 0 {
			first++
		}
		if first == len(g.open) {
			return list, cost
		}
		if gone*staleShare > len(g.open) {
			g.list()
			gone, first = 0, 0
		}
		c := g.around(first)
		for _, t := range c.member[:c.size] {
			if g.left[t]--; g.left[t] == 0 {
				gone++
			}
		}
		list, cost = append(list, c), cost+c.bin.Price
	}
}

// around returns the best column with a copy of an entry.
func (g *generator) around(first int) packed {
	var best packed
	ratio, tries := 0.0, 0
	one := &g.open[first]
	for i := range g.bins {
		b := &g.bins[i]
		if b.X < one.x || b.Y < one.y {
			continue
		}
		if tries++; tries > binsPerItem {
			break
		}
		f := g.pairUp(b, first, ratio, nil)
		if f.size == 0 {
			continue
		}
		c := g.packed(&f)
		if r := f.ratio * b.Price / c.bin.Price; best.bin == nil || r > ratio*(1+same) {
			best, ratio = c, r
		}
	}
	return best
}

// packed returns the column of a set.
func (g *generator) packed(f *entrySet) packed {
	c := packed{size: f.size}
	var x, y int64
	for i, m := range f.member[:f.size] {
		o := &g.open[m]
		x, y, c.member[i] = x+o.x, y+o.y, int32(o.item)
	}
	at := slices.IndexFunc(g.byPrice, func(b bin) bool { return b.X >= x && b.Y >= y })
	c.bin = &g.byPrice[at]
	return c
}

// revalue moves the value of each item towards what its copies cost in these columns, if the price of each is divided by value.
func (g *generator) revalue(list []packed) {
	paid := make([]float64, len(g.value))
	for i := range list {
		c := &list[i]
		held := 0.0
		for _, t := range c.member[:c.size] {
			held += g.value[t]
		}
		for _, t := range c.member[:c.size] {
			paid[t] += g.value[t] * c.bin.Price / held
		}
	}
	for i, it := range g.items {
		g.value[i] += float64(correction * (paid[i]/float64(it.Copies) - g.value[i]))
	}
}
