package pack

import "slices"

// widths are how many kinds are tried next at each depth of the search for what completes a node; beyond it, the first that
// fits is taken.
var widths = [...]int{10, 4, 2}

// searched is how many units of the middling kind a node may have room for, for the search to matter.
const searched = 60

// A search looks for the units that make most of the room left on a node that holds few, where it matters which.
type search struct {
	open    []*kind
	worth   []float64 // of a unit of each column, at most
	room    []int64
	units   []float64 // of each column
	path    []*kind
	best    []*kind
	value   float64 // of path
	most    float64 // of best
	enough  float64
	scale   float64 // how much more than by worth units may be worth
	visited int
}

// bySearch completes the node by looking several units ahead: it tries the dearest kinds that fit, after each of them the
// dearest that fit then, and so on, and keeps what is worth most. Kinds that care who is on their node are left to other
// orders, and so are those that would bring more cargo.
func bySearch(t *tier, f *filling) {
	if len(f.open) == 0 || f.shop.worth > searched*f.open[len(f.open)/2].value {
		byWorth(t, f)
		return
	}
	s := &t.work.search
	s.open = s.open[:0]
	for _, k := range f.open {
		on := k.fit.on[f.shelf.index].flavour
		if on == f.flavour && !k.social && !on.diverse && f.aboard.has(k.cargo) {
			s.open = append(s.open, k)
		}
	}
	s.units, s.worth, s.room = t.units, f.shop.best, f.room
	s.path, s.best, s.value, s.most, s.visited = s.path[:0], s.best[:0], 0, 0, 0
	s.enough = f.price*t.ceiling - f.value
	s.scale = t.ceiling / near
	s.descend(0, 0)
	for _, k := range s.best {
		if t.add(f, k, 1) == 0 {
			return
		}
	}
}

// maxVisits bounds one search.
const maxVisits = 400

// descend adds kinds from index from on; those before it were tried before.
func (s *search) descend(from, depth int) {
	if s.value > s.most {
		s.most = s.value
		s.best = append(s.best[:0], s.path...)
	}
	if s.most >= s.enough || s.visited > maxVisits {
		return
	}
	left := 0.0
	for r, v := range s.room {
		left += float64(s.worth[r] * float64(max(v, 0)) / s.units[r])
	}
	left *= s.scale
	if s.value+left <= s.most {
		return
	}
	width := 1
	if depth < len(widths) {
		width = widths[depth]
	}
	// Kinds are ordered by value, and none worth more than the room fits.
	start, _ := slices.BinarySearchFunc(s.open, left*(1+same), func(k *kind, v float64) int {
		if k.value > v {
			return -1
		}
		return 1
	})
	for i := max(from, start); i < len(s.open) && width > 0; i++ {
		k := s.open[i]
		if k.used >= k.left || !k.need.within(s.room) {
			continue
		}
		width--
		s.visited++
		k.used++
		subtract(s.room, k.amount, 1)
		s.value += k.value
		s.path = append(s.path, k)
		s.descend(i, depth+1)
		s.path = s.path[:len(s.path)-1]
		s.value -= k.value
		subtract(s.room, k.amount, -1)
		k.used--
		if s.most >= s.enough {
			return
		}
	}
}

// within reports whether one unit has room.
func (n *need) within(room []int64) bool {
	for r, v := range n.amount {
		if v > room[r] {
			return false
		}
	}
	return true
}
