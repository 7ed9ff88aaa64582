package pack

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A menu is what a node may be launched as: shapes that hold its pods, cheapest first. Nodes whose pods the same shapes hold
// share one.
type menu struct {
	shapes []*shape
	types  []*model.InstanceType // of the shapes
}

// A menuKey is what a menu depends on.
type menuKey struct {
	flavour  *flavour
	reserved *reservation
	shapes   string
}

// A ladder holds the rooms of a shelf's shapes in one column in ascending order, and the shapes that have at least each.
type ladder struct {
	rooms []int64
	masks []mask
}

// worthLadders is how many needs a shelf must be asked about for ladders to pay.
const worthLadders = 50

// ladders returns the ladder of each column.
func (s *shelf) ladders(columns int) []ladder {
	if s.rungs != nil || columns == 0 {
		return s.rungs
	}
	shapes := s.pool.shapes
	order := make([]int, len(shapes))
	for i := range order {
		order[i] = i
	}
	s.rungs = make([]ladder, columns)
	for c := range s.rungs {
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(shapes[b].room[c], shapes[a].room[c]) })
		l := &s.rungs[c]
		with := newMask(len(shapes))
		for _, j := range order { // roomiest first: each rung adds its shapes to those above
			with.set(j)
			if room := shapes[j].room[c]; len(l.rooms) == 0 || l.rooms[len(l.rooms)-1] != room {
				l.rooms = append(l.rooms, room)
				l.masks = append(l.masks, nil)
			}
			l.masks[len(l.masks)-1] = slices.Clone(with)
		}
		slices.Reverse(l.rooms)
		slices.Reverse(l.masks)
	}
	return s.rungs
}

// holding takes the shapes out of m that have no room for need and cargo.
func (s *shelf) holding(m mask, need []int64, c cargo) mask {
	if len(c) > 0 {
		m.each(func(j int) {
			if !s.pool.shapes[j].carries(need, c) {
				m.unset(j)
			}
		})
	}
	if s.asked++; s.asked < worthLadders {
		m.each(func(j int) {
			if _, _, missing := short(need, s.pool.shapes[j].room); missing {
				m.unset(j)
			}
		})
		return m
	}
	for c, l := range s.ladders(len(need)) {
		if need[c] <= 0 {
			continue
		}
		i := sort.Search(len(l.rooms), func(i int) bool { return l.rooms[i] >= need[c] })
		if i == len(l.rooms) {
			clear(m)
			return m
		}
		for w := range m {
			m[w] &= l.masks[i][w]
		}
	}
	return m
}

// options returns the shapes that hold need and cargo under the flavour and draw from the reservation, nil for none, cheapest first.
// Where a daemon's host port is in the way of a pod there, bears says so; nil where no pod has any. The result is shared.
func (s *shelf) options(f *flavour, need []int64, c cargo, reserved *reservation, bears func(shape int) bool) *menu {
	m := s.holding(append(s.scratch[:0], f.allowed...), need, c)
	s.scratch = m
	if bears != nil {
		m.each(func(j int) {
			if !bears(j) {
				m.unset(j)
			}
		})
	}
	s.name = s.name[:0]
	for _, w := range m {
		s.name = binary.LittleEndian.AppendUint64(s.name, w)
	}
	if out := s.menus[menuKey{f, reserved, string(s.name)}]; out != nil {
		return out
	}
	if f.byPrice == nil {
		f.byPrice = []int{}
		f.allowed.each(func(j int) { f.byPrice = append(f.byPrice, j) })
		slices.SortStableFunc(f.byPrice, func(a, b int) int { return cmp.Compare(f.price[a], f.price[b]) })
	}
	out := &menu{}
	for _, j := range f.byPrice {
		if sh := s.pool.shapes[j]; m.has(j) && sh.reserved == reserved {
			out.shapes = append(out.shapes, sh)
			out.types = append(out.types, sh.typ)
		}
	}
	if s.menus == nil {
		s.menus = map[menuKey]*menu{}
	}
	s.menus[menuKey{f, reserved, string(s.name)}] = out
	return out
}
