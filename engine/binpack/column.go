package binpack

import "slices"

// maxColumn bounds how many copies a column has that the search finds. Sparse problems have fewCopies to a bin on average at
// most.
const maxColumn = 8

// A column is copies that share a bin: their item types, and the cheapest bin that holds them.
type column struct {
	bin    *columnBin
	size   int
	member [maxColumn]int32
}

// learn makes known what shares a bin in these bins.
func (g *columnGenerator) learn(bins []*pattern) {
	g.restock()
	for _, p := range bins {
		var types []int32
		for _, x := range p.parts {
			for range x.n {
				types = append(types, int32(x.typ.index))
			}
		}
		g.master.add(types, p.price, g.left)
	}
}

// resortShare is the share of the item types, one in so many, that may be packed before what is left is listed anew.
const resortShare = 8

// pack opens bin after bin: around the most valuable copy left, with what makes most of a dollar. It returns what shares a bin,
// and what all bins cost.
func (g *columnGenerator) pack() (list []column, cost float64) {
	g.restock()
	g.sort()
	gone, first := 0, 0
	for {
		for first < len(g.open) && g.left[g.open[first].typ] == 0 {
			first++
		}
		if first == len(g.open) {
			return list, cost
		}
		if gone*resortShare > len(g.open) {
			g.sort()
			gone, first = 0, 0
		}
		c := g.around(first)
		for _, t := range c.member[:c.size] {
			if g.left[t]--; g.left[t] == 0 {
				gone++
			}
		}
		list, cost = append(list, c), cost+c.bin.price
	}
}

// around returns the best column with a copy of an entry.
func (g *columnGenerator) around(first int) column {
	var best column
	ratio, tries := 0.0, 0
	one := &g.open[first]
	for i := range g.bins {
		b := &g.bins[i]
		if b.x < one.x || b.y < one.y {
			continue
		}
		if tries++; tries > maxColumnBins {
			break
		}
		f := g.pairUp(b, first, ratio, nil)
		if f.size == 0 {
			continue
		}
		c := g.column(&f)
		if r := f.ratio * b.price / c.bin.price; best.bin == nil || r > ratio*(1+same) {
			best, ratio = c, r
		}
	}
	return best
}

// column returns what the set puts together.
func (g *columnGenerator) column(f *entrySet) column {
	c := column{size: f.size}
	var x, y int64
	for i, m := range f.member[:f.size] {
		o := &g.open[m]
		x, y, c.member[i] = x+o.x, y+o.y, int32(o.typ)
	}
	c.bin = g.cheapest(x, y)
	return c
}

// revalue moves the value of each item type towards what its copies cost in these columns, if the price of each is divided by
// value.
func (g *columnGenerator) revalue(list []column) {
	paid := make([]float64, len(g.value))
	for i := range list {
		c := &list[i]
		held := 0.0
		for _, t := range c.member[:c.size] {
			held += g.value[t]
		}
		for _, t := range c.member[:c.size] {
			paid[t] += g.value[t] * c.bin.price / held
		}
	}
	for i, t := range g.search.demand.types {
		g.value[i] += float64(columnCorrection * (paid[i]/float64(t.left) - g.value[i]))
	}
}

// pattern returns the pattern of a column, with copies that are left.
func (g *columnGenerator) pattern(c *column) *pattern {
	x := c.bin.candidate
	types := g.search.demand.types
	p := &pattern{
		catalog: x.catalog, typ: x.typ, offers: types[c.member[0]].fit.on[x.catalog.index].offers,
		fee: g.search.pricing.fee, price: c.bin.price,
	}
	for _, m := range c.member[:c.size] {
		p.put(types[m])
	}
	p.resize()
	return p
}

// put puts one more copy of t into p.
func (p *pattern) put(t *itemType) {
	p.value += t.value
	for i := range t.classes {
		c := &t.classes[i]
		for _, it := range c.open() {
			at := slices.IndexFunc(p.parts, func(x part) bool { return x.item == it })
			switch {
			case at < 0 && it.left > 0:
				p.parts = append(p.parts, part{item: it, typ: t, class: c, n: 1})
				return
			case at >= 0 && p.parts[at].n < it.left:
				p.parts[at].n++
				return
			}
		}
	}
}
