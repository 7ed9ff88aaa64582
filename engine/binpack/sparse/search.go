package sparse

// An entrySet is a set of copies for one bin type. ratio is their total value divided by the bin's price.
type entrySet struct {
	ratio  float64
	size   int
	member [maxSize]int32 // member[k] is the index in packer.entries of the entry of copy k
}

// restFactor limits the search of pairUp. pairUp assumes that the value of a set is at most that of its first copy plus
// restFactor times that of its second. It ends when this limit is below the best ratio so far times the bin's price.
const restFactor = 2

// promising is the least ratio (value per dollar) of a pattern that addPatterns adds. A pattern of ratio 1 has reduced cost 0.
const promising = 0.99

// addPatterns adds patterns to the master: for each bin type and entry the best set of at least two copies with that entry
// that pairUp finds, if its ratio is at least promising.
func (g *packer) addPatterns() {
	g.resetCopies()
	best := make([]entrySet, len(g.entries))
	for _, i := range g.byRatio {
		b := &g.bins[i]
		clear(best)
		for first := range g.entries {
			if g.entries[first].x <= b.X && g.entries[first].y <= b.Y {
				g.pairUp(b, first, promising, best)
			}
		}
		for k := range best {
			if f := &best[k]; f.size > 0 {
				c := g.patternOf(f)
				g.master.add(c.Items, g.bins[c.Bin].Price, g.items)
			}
		}
	}
}

// pairUp returns the set of copies for bin type b with the highest ratio that it finds. It returns an empty set if no ratio
// reaches minRatio. The first copy is of g.entries[first], the second of the same or a later entry. The method complete adds
// the other copies. b must hold the first.
//
// If best is not nil, pairUp returns no set of two or more copies. It sets best[k] to each such set with entry k that reaches
// minRatio and has a higher ratio than best[k].
func (g *packer) pairUp(b *Bin, first int, minRatio float64, best []entrySet) entrySet {
	one := &g.entries[first]
	x, y := b.X-one.x, b.Y-one.y
	var top entrySet
	f := entrySet{size: 1}
	f.member[0] = int32(first)
	if f.ratio = one.value / b.Price; f.ratio >= minRatio {
		top, minRatio = f, f.ratio
	}
	for second := first; second < len(g.entries); second++ {
		two := &g.entries[second]
		if one.value+float64(restFactor*two.value) < minRatio*b.Price {
			break
		}
		if two.x > x || two.y > y || g.left[two.item] == 0 || second == first && g.left[one.item] < 2 {
			continue
		}
		f.member[1], f.size = int32(second), 2
		value := one.value + two.value + g.complete(&f, x-two.x, y-two.y)
		switch f.ratio = value / b.Price; {
		case f.ratio < minRatio:
		case best == nil:
			top, minRatio = f, f.ratio
		default:
			for _, k := range f.member[:f.size] {
				if f.ratio > best[k].ratio {
					best[k] = f
				}
			}
		}
	}
	return top
}

// complete adds copies to the set until the set has maxSize copies, or neither of the two most valuable entries that fit
// into the free capacity (x, y) has another copy. It returns the total value of the added copies.
func (g *packer) complete(f *entrySet, x, y int64) float64 {
	value := 0.0
	for f.size < maxSize {
		next := int32(noEntry)
		for _, m := range g.gaps.within(x, y) {
			if m != noEntry && g.hasSpare(f, m) {
				next = m
				break
			}
		}
		if next == noEntry {
			break
		}
		o := &g.entries[next]
		x, y, value = x-o.x, y-o.y, value+o.value
		f.member[f.size] = next
		f.size++
	}
	return value
}

// hasSpare reports whether entry m has more remaining copies than the set contains.
func (g *packer) hasSpare(f *entrySet, m int32) bool {
	left := g.left[g.entries[m].item]
	for _, o := range f.member[:f.size] {
		if o == m {
			left--
		}
	}
	return left > 0
}
