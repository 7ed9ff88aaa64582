package colgen

import (
	"cmp"
	"slices"
)

// An Item is a number of identical copies to pack.
type Item struct {
	X, Y   int64   // the demand of one copy in the two dimensions
	Copies int     // at least 1
	Value  float64 // the initial dual price of one copy, in dollars per hour
}

// A Bin is a bin type. Every item must fit in at least one bin type.
type Bin struct {
	X, Y     int64   // the capacity in the two dimensions
	Price    float64 // with the fee, in dollars per hour
	MaxRatio float64 // an upper bound on the value per dollar of any column in this bin type, at the initial values
}

// A Column is a set of copies that share one bin.
type Column struct {
	Bin   int   // index of the bin type
	Items []int // for each copy, the index of its item
}

const (
	// maxSize is the largest number of copies in a generated column. Columns of the incumbent may have more.
	maxSize = 8
	// binsPerItem is the number of bin types that the search considers for each item. maxPairs is the largest number of
	// pairs of items, over all bin types, that one iteration may evaluate.
	binsPerItem = 6
	maxPairs    = 12_000_000
	// Generate makes minRounds to maxRounds rounds of column generation, then minPackings to maxPackings greedy packings.
	// Within these limits, it evaluates about roundPairs pairs of items in all rounds, and packingPairs in all packings.
	minRounds, maxRounds, roundPairs       = 3, 6, 2_000_000
	minPackings, maxPackings, packingPairs = 5, 24, 6_000_000
	// correction is the share of the difference to the actual cost by which revalue changes a value.
	correction = 0.1
	// same is the relative difference up to which two prices or ratios are regarded as equal.
	same = 1e-6
)

// pairs returns an upper bound on the pairs of items that one iteration evaluates, over all bin types.
func pairs(items int) int { return items * items * binsPerItem }

// Feasible reports whether an iteration over this number of items evaluates at most maxPairs pairs.
func Feasible(items int) bool { return pairs(items) <= maxPairs }

// A generator is the state of one call of Generate.
type generator struct {
	items   []Item
	bins    []bin     // the bin types that the search considers, by falling MaxRatio
	byPrice []bin     // all bin types, by rising price
	value   []float64 // value[i] is the current dual price of item i, in dollars per hour
	left    []int     // left[i] is the number of remaining copies of item i
	open    []entry   // the items with remaining copies, by falling value; set by method list
	gaps    gapTable
	buf     []int64 // memory for gapTable.set
	master  master
}

// A bin is a Bin with its index in the argument of Generate.
type bin struct {
	Bin
	index int
}

// An entry is an item in generator.open: its demand (x, y), its current value and its index.
type entry struct {
	x, y  int64
	value float64
	item  int
}

// A column is a Column of at most maxSize copies, in the cheapest bin type that holds them.
type column struct {
	bin    *bin
	size   int
	member [maxSize]int32 // member[k] is the index of the item of copy k
}

// Generate returns columns that pack all copies and cost less than the incumbent. It returns nil if it finds none.
// prices[i] is the price of column i of the incumbent.
func Generate(items []Item, bins []Bin, incumbent []Column, prices []float64) []Column {
	g := newGenerator(items, bins)
	least := 0.0
	for i, c := range incumbent {
		g.master.add(int32s(c.Items), prices[i], items)
		least += prices[i]
	}
	n := pairs(len(items))
	for range max(minRounds, min(maxRounds, roundPairs/n)) {
		g.addColumns()
		g.solveMaster(least)
	}
	var best []column
	for range max(minPackings, min(maxPackings, packingPairs/n)) {
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

func newGenerator(items []Item, bins []Bin) *generator {
	g := &generator{items: items}
	for i, b := range bins {
		g.byPrice = append(g.byPrice, bin{b, i})
	}
	byRatio := slices.Clone(g.byPrice)
	slices.SortStableFunc(g.byPrice, func(a, b bin) int { return cmp.Compare(a.Price, b.Price) })
	slices.SortStableFunc(byRatio, func(a, b bin) int {
		return cmp.Or(cmp.Compare(b.MaxRatio, a.MaxRatio), cmp.Compare(b.Price, a.Price))
	})
	// kept[i] is set if, for some item, byRatio[i] is among the first binsPerItem bin types that hold it.
	kept := make([]bool, len(bins))
	for _, it := range items {
		n := 0
		for i := range byRatio {
			if b := &byRatio[i]; n < binsPerItem && b.X >= it.X && b.Y >= it.Y {
				kept[i] = true
				n++
			}
		}
		g.value = append(g.value, it.Value)
	}
	for i, b := range byRatio {
		if kept[i] {
			g.bins = append(g.bins, b)
		}
	}
	return g
}

// restock marks all copies as remaining and rebuilds open.
func (g *generator) restock() {
	g.left = g.left[:0]
	for i := range g.items {
		g.left = append(g.left, g.items[i].Copies)
	}
	g.list()
}

// list rebuilds open, and the gap table for it.
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

// maxGone is the largest share of entries of open that may have no remaining copies. If it is exceeded, pack rebuilds
// open.
const maxGone = 0.125

// pack packs all copies greedily, and returns the columns and their total price. It takes the most valuable remaining
// copy and adds the column with the highest ratio that contains it, until all are packed.
func (g *generator) pack() (list []column, cost float64) {
	g.restock()
	gone, first := 0, 0
	for {
		for first < len(g.open) && g.left[g.open[first].item] == 0 {
			first++
		}
		if first == len(g.open) {
			return list, cost
		}
		if float64(gone) > maxGone*float64(len(g.open)) {
			g.list()
			gone, first = 0, 0
		}
		c := g.bestAround(first)
		for _, t := range c.member[:c.size] {
			if g.left[t]--; g.left[t] == 0 {
				gone++
			}
		}
		list, cost = append(list, c), cost+c.bin.Price
	}
}

// bestAround returns the column with the highest ratio that contains a copy of open[first], and otherwise only copies
// of this and less valuable entries.
func (g *generator) bestAround(first int) column {
	var best column
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
		c := g.toColumn(&f)
		if r := f.ratio * b.Price / c.bin.Price; best.bin == nil || r > ratio*(1+same) {
			best, ratio = c, r
		}
	}
	return best
}

// toColumn returns the entries of f as a column in the cheapest bin type that holds them.
func (g *generator) toColumn(f *entrySet) column {
	c := column{size: f.size}
	var x, y int64
	for i, m := range f.member[:f.size] {
		o := &g.open[m]
		x, y, c.member[i] = x+o.x, y+o.y, int32(o.item)
	}
	at := slices.IndexFunc(g.byPrice, func(b bin) bool { return b.X >= x && b.Y >= y })
	c.bin = &g.byPrice[at]
	return c
}

// revalue moves the value of each item towards the mean cost of its copies in these columns. The price of a column is
// divided among its copies in proportion to their values.
func (g *generator) revalue(list []column) {
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
