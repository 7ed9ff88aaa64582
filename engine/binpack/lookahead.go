package binpack

import "slices"

// widths are how many item types are tried next at each depth of the search for what completes a bin. Beyond it, the first that
// fits is taken.
var widths = [...]int{10, 4, 2}

const (
	// searched is how many copies of the type of median value a bin may have room for, for the search to matter.
	searched = 60
	// maxVisits bounds one search.
	maxVisits = 400
	// near is how close to its bound a pattern must come to be taken without looking further.
	near = 0.999
)

// A lookahead searches for the copies that make most of the capacity left in a bin that holds few, where it matters which.
type lookahead struct {
	open    []*itemType
	prices  []float64 // of a unit of each dimension, at most
	units   []float64
	free    []int64
	path    []*itemType
	best    []*itemType
	value   float64 // of path
	most    float64 // of best
	enough  float64
	scale   float64 // how much more than by dual prices copies may be worth
	visited int
}

// byLookahead completes the bin by looking several copies ahead: it tries the most valuable types that fit, after each of them
// the most valuable that fit then, and so on, and keeps what is worth most. Types with conflicts are left to other orders,
// and so are those that would bring further shared demands.
func byLookahead(f *filling) {
	p := &f.pattern
	if len(f.open) == 0 || f.candidate.value > searched*f.open[len(f.open)/2].value {
		byValue(f)
		return
	}
	s := &f.scratch.lookahead
	s.open = s.open[:0]
	for _, t := range f.open {
		on := t.fit.on[p.catalog.index].offers
		if on == p.offers && !t.social && len(on.distinct) == 0 && containsAll(f.held, t.shared) {
			s.open = append(s.open, t)
		}
	}
	s.units, s.prices, s.free = f.in.units, f.candidate.best, f.free
	s.path, s.best, s.value, s.most, s.visited = s.path[:0], s.best[:0], 0, 0, 0
	s.enough = p.price*f.effort.ceiling - p.value
	s.scale = f.effort.ceiling / near
	s.descend(0, 0)
	f.in.meter.spend(s.visited)
	for _, t := range s.best {
		if f.add(t, 1) == 0 {
			return
		}
	}
}

// descend adds types from index from on. Those before it were tried before.
func (s *lookahead) descend(from, depth int) {
	if s.value > s.most {
		s.most = s.value
		s.best = append(s.best[:0], s.path...)
	}
	if s.most >= s.enough || s.visited > maxVisits {
		return
	}
	left := 0.0
	for d, v := range s.free {
		left += float64(s.prices[d] * float64(max(v, 0)) / s.units[d])
	}
	left *= s.scale
	if s.value+left <= s.most {
		return
	}
	width := 1
	if depth < len(widths) {
		width = widths[depth]
	}
	// Types are ordered by value, and none that is worth more than the free capacity fits.
	start, _ := slices.BinarySearchFunc(s.open, left*(1+same), func(t *itemType, v float64) int {
		if t.value > v {
			return -1
		}
		return 1
	})
	for i := max(from, start); i < len(s.open) && width > 0; i++ {
		t := s.open[i]
		if t.used >= t.left || !within(t.demand, s.free) {
			continue
		}
		width--
		s.visited++
		t.used++
		subtract(s.free, t.demand, 1)
		s.value += t.value
		s.path = append(s.path, t)
		s.descend(i, depth+1)
		s.path = s.path[:len(s.path)-1]
		s.value -= t.value
		subtract(s.free, t.demand, -1)
		t.used--
		if s.most >= s.enough {
			return
		}
	}
}

// within reports whether no dimension of demand exceeds what is free.
func within(demand, free []int64) bool {
	for d, v := range demand {
		if v > free[d] {
			return false
		}
	}
	return true
}
