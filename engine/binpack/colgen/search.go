package colgen

// An entrySet is a set of entries in a bin, and the value that a dollar buys there.
type entrySet struct {
	ratio  float64
	size   int
	member [maxSize]int32 // numbers of entries
}

const (
	// pairDepth is how much of the value of the second copy of a set the others are taken to have at most, with it. With more
	// the search is wider.
	pairDepth = 2
	// promising is how much of what a bin costs a column must be worth to be added, possible how much it can be worth, about.
	promising = 0.99
	possible  = 1.05
)

// addColumns adds to the master problem, for each item and bin, the best column with a copy of it, if its reduced cost is
// nearly negative.
func (g *generator) addColumns() {
	g.restock()
	best := make([]entrySet, len(g.open))
	for i := range g.bins {
		if !g.spend(len(g.open)) {
			return
		}
		clear(best)
		for first := range g.open {
			g.pairUp(&g.bins[i], first, promising, best)
		}
		for m := range best {
			if best[m].size > 0 {
				c := g.packed(&best[m])
				g.master.add(c.member[:c.size], c.bin.Price, g.items)
			}
		}
	}
}

// pairUp looks at the sets in b of which the entry first is worth most: with any second one, and whatever then is worth most in
// what is free, one after another. It returns the best that is worth least times the price or more. If best is not nil it notes
// there, for each entry, the best such set that has it.
func (g *generator) pairUp(b *bin, first int, least float64, best []entrySet) entrySet {
	one := &g.open[first]
	x, y := b.X-one.x, b.Y-one.y
	var top entrySet
	if x < 0 || y < 0 {
		return top
	}
	f := entrySet{size: 1}
	f.member[0] = int32(first)
	if f.ratio = one.value / b.Price; f.ratio >= least {
		top, least = f, f.ratio
	}
	from := g.from(first, float64(b.Price*possible)-one.value)
	second := from
	for ; second < len(g.open); second++ {
		two := &g.open[second]
		if one.value+float64(pairDepth*two.value) < least*b.Price {
			break
		}
		if two.x > x || two.y > y || g.left[two.item] == 0 || second == first && g.left[one.item] < 2 {
			continue
		}
		f.member[1], f.size = int32(second), 2
		value := one.value + two.value + g.complete(&f, x-two.x, y-two.y)
		if f.ratio = value / b.Price; f.ratio < least {
			continue
		}
		if best == nil {
			top, least = f, f.ratio
			continue
		}
		for _, m := range f.member[:f.size] {
			if f.ratio > best[m].ratio {
				best[m] = f
			}
		}
	}
	g.spend(second - from)
	return top
}

// from returns the first entry from number i on that is worth value at most.
func (g *generator) from(i int, value float64) int {
	j := len(g.open)
	for i < j {
		if m := int(uint(i+j) >> 1); g.open[m].value > value {
			i = m + 1
		} else {
			j = m
		}
	}
	return i
}

// complete adds to the set what is worth most in what is free, one after another, and returns what that is worth.
func (g *generator) complete(f *entrySet, x, y int64) float64 {
	value := 0.0
	for f.size < maxSize {
		next := int32(noEntry)
		for _, m := range g.gaps.within(x, y) {
			if m != noEntry && g.spare(f, m) {
				next = m
				break
			}
		}
		if next == noEntry {
			break
		}
		o := &g.open[next]
		x, y, value = x-o.x, y-o.y, value+o.value
		f.member[f.size] = next
		f.size++
	}
	return value
}

// spare reports whether there is one more copy of the entry than the set has.
func (g *generator) spare(f *entrySet, m int32) bool {
	left := g.left[g.open[m].item]
	for _, o := range f.member[:f.size] {
		if o == m {
			left--
		}
	}
	return left > 0
}
