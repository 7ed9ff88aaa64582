package pack

// A find is a set of articles on a bin, and what a dollar buys there.
type find struct {
	ratio  float64
	size   int
	member [maxSet]int32 // numbers of articles
}

// maxSet bounds how many units a set holds that the search finds. Sparse plans have six to a node on average at most.
const maxSet = 8

// depth is how much of what the second unit of a set is worth the others are taken to be worth at most, with it: with more the
// search is wider.
const depth = 2

// propose adds to the pool, for each kind and bin, the best set with a unit of that kind, if it is nearly worth its price.
func (a *appraiser) propose() {
	a.restock()
	a.sort()
	best := make([]find, len(a.open))
	for i := range a.bins {
		clear(best)
		for first := range a.open {
			a.pairs(&a.bins[i], first, promising, best)
		}
		for m := range best {
			if best[m].size > 0 {
				p := a.parcel(&best[m])
				a.pool.add(p.member[:p.size], p.bin.price, a.left)
			}
		}
	}
}

// promising is how much of what a bin costs a set must be worth to be known, possible how much it can be at most, about.
const (
	promising = 0.99
	possible  = 1.05
)

// pairs looks at the sets on b of which the article first is worth most: with any second one, and whatever then is worth most
// in the room that is left, one after another. It returns the best that is worth least times the price or more; and if best
// is not nil it notes there, for each article, the best such set that has it.
func (a *appraiser) pairs(b *bin, first int, least float64, best []find) find {
	one := &a.open[first]
	x, y := b.x-one.x, b.y-one.y
	var top find
	if x < 0 || y < 0 {
		return top
	}
	f := find{size: 1}
	f.member[0] = int32(first)
	if f.ratio = one.value / b.price; f.ratio >= least {
		top, least = f, f.ratio
	}
	for second := a.from(first, float64(b.price*possible)-one.value); second < len(a.open); second++ {
		two := &a.open[second]
		if one.value+float64(depth*two.value) < least*b.price {
			break
		}
		if two.x > x || two.y > y || a.left[two.kind] == 0 || second == first && a.left[one.kind] < 2 {
			continue
		}
		f.member[1], f.size = int32(second), 2
		value := one.value + two.value + a.complete(&f, x-two.x, y-two.y)
		if f.ratio = value / b.price; f.ratio < least {
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
	return top
}

// from returns the first article from number i on that is worth value at most.
func (a *appraiser) from(i int, value float64) int {
	j := len(a.open)
	for i < j {
		if m := int(uint(i+j) >> 1); a.open[m].value > value {
			i = m + 1
		} else {
			j = m
		}
	}
	return i
}

// complete adds to the set what is worth most in the room that is left, one after another, and returns what that is worth.
func (a *appraiser) complete(f *find, x, y int64) float64 {
	value := 0.0
	for f.size < maxSet {
		next := int32(none)
		for _, m := range a.gaps.within(x, y) {
			if m != none && a.spare(f, m) {
				next = m
				break
			}
		}
		if next == none {
			break
		}
		o := &a.open[next]
		x, y, value = x-o.x, y-o.y, value+o.value
		f.member[f.size] = next
		f.size++
	}
	return value
}

// spare reports whether there is one more unit of the article than the set has.
func (a *appraiser) spare(f *find, m int32) bool {
	left := a.left[a.open[m].kind]
	for _, o := range f.member[:f.size] {
		if o == m {
			left--
		}
	}
	return left > 0
}
