package binpack

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// An itemSet is the input of a search: the item types that it packs, with the number of remaining copies of each.
type itemSet struct {
	types   []*itemType
	classes int           // the number of conflict classes; a class is all items with equal counts and bounds
	groups  int           // the number of price groups; a group is the item types with equal prices in every bin type
	scarce  []cardinality // the cardinalities that have a dual price
	byValue []*itemType   // the item types with remaining copies when sortByValue was last called, by falling value
	total   float64       // the total value of all remaining copies when sumValue was last called
}

// A cardinality is a conflict group that limits how many copies share a bin. max is the largest Bound.Max, at least 1, of
// the items that have both a Count above 0 and a Bound for the group. bins is their number of remaining copies divided by
// max, rounded down. For example, pods with anti-affinity to each other have max 1.
//
// The cardinalities with the most bins are called scarce. Each is treated like a resource: a copy of these items demands
// one unit of it, a bin has capacity max, and a unit has a dual price.
type cardinality struct{ group, max, bins int }

const (
	// maxScarce is the maximum number of scarce cardinalities. A cardinality can only be scarce if it requires at least
	// minBins bins.
	maxScarce = 4
	minBins   = 3
	// maxGroups is the largest number of price groups. If there are more combinations of prices, the item types of those
	// with the least total weight form the last group.
	maxGroups = 8
)

func newItemSet(in *instance, items []*item, scarce []cardinality) *itemSet {
	s := &itemSet{scarce: scarce}
	s.types, s.classes = groupItems(in, items, scarce)
	s.setGroups(in.catalogs)
	return s
}

// scarceCardinalities returns the cardinalities that require at least minBins bins. If there are more than maxScarce, it
// returns those that require the most bins.
func scarceCardinalities(items []*item) []cardinality {
	copies, perBin := map[int]int{}, map[int]int{}
	for _, it := range items {
		for _, b := range it.Bounds {
			if countOf(it.Counts, b.Group) > 0 {
				copies[b.Group] += it.left
				perBin[b.Group] = max(perBin[b.Group], b.Max, 1)
			}
		}
	}
	var out []cardinality
	for g, n := range copies {
		if n/perBin[g] >= minBins {
			out = append(out, cardinality{g, perBin[g], n / perBin[g]})
		}
	}
	slices.SortFunc(out, func(a, b cardinality) int {
		return cmp.Or(cmp.Compare(b.bins, a.bins), cmp.Compare(a.group, b.group))
	})
	return out[:min(len(out), maxScarce)]
}

// scarceBits returns a bit set. Bit i is set if the item has a Count above 0 and a Bound for the group of scarce[i]. In the
// linear program each copy of such an item demands one unit, also if its Count is higher.
func scarceBits(it *item, scarce []cardinality) int {
	bits := 0
	for i, c := range scarce {
		if countOf(it.Counts, c.group) > 0 && slices.ContainsFunc(it.Bounds, func(b Bound) bool { return b.Group == c.group }) {
			bits |= 1 << i
		}
	}
	return bits
}

// setGroups assigns the item types to price groups. Item types of one group pay equal prices in every bin type. Groups are
// numbered by falling weight: the sum of itemType.weights of their remaining copies. Only the last group may contain item
// types with different prices, see maxGroups.
func (s *itemSet) setGroups(catalogs []*catalog) {
	at := map[string]int{}
	var size []float64
	var buf []byte
	for _, t := range s.types {
		buf = buf[:0]
		for _, c := range catalogs {
			id := -1
			if s := t.fit[c.index].offers; s != nil {
				id = s.priceClass
			}
			buf = binary.AppendVarint(buf, int64(id))
		}
		g, ok := at[string(buf)]
		if !ok {
			g = len(size)
			at[string(buf)] = g
			size = append(size, 0)
		}
		t.group = g
		for _, v := range t.weights {
			size[g] += float64(v * float64(t.left))
		}
	}
	rank, order := make([]int, len(size)), make([]int, len(size))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	for i, g := range order {
		rank[g] = min(i, maxGroups-1)
	}
	for _, t := range s.types {
		t.group = rank[t.group]
	}
	s.groups = min(len(size), maxGroups)
}

// resetByValue rebuilds byValue from all item types with remaining copies.
func (s *itemSet) resetByValue() {
	s.byValue = s.byValue[:0]
	for _, t := range s.types {
		if t.left > 0 {
			s.byValue = append(s.byValue, t)
		}
	}
	s.sortByValue()
}

// sortByValue removes the item types without remaining copies from byValue and orders it by falling value. It updates total.
func (s *itemSet) sortByValue() {
	s.byValue = slices.DeleteFunc(s.byValue, func(t *itemType) bool { return t.left == 0 })
	slices.SortFunc(s.byValue, func(a, b *itemType) int {
		if a.value != b.value {
			return cmp.Compare(b.value, a.value)
		}
		return a.index - b.index
	})
	s.sumValue()
}

// sumValue sets total.
func (s *itemSet) sumValue() {
	s.total = 0
	for _, t := range s.byValue {
		s.total += float64(t.value * float64(t.left))
	}
}

// hasRemaining reports whether any item type has remaining copies.
func (s *itemSet) hasRemaining() bool {
	return slices.ContainsFunc(s.types, func(t *itemType) bool { return t.left > 0 })
}

// needs returns the total demand of the remaining copies of the item types in byValue, divided by Problem.Units. Element
// [g][r] is that of price group g in dimension r. Scarce cardinalities follow the dimensions; width is the number of both.
func (s *itemSet) needs(width int) [][]float64 {
	out := make([][]float64, s.groups)
	for g := range out {
		out[g] = make([]float64, width)
	}
	for _, t := range s.byValue {
		need := out[t.group]
		for r, v := range t.weights {
			need[r] += float64(v * float64(t.left))
		}
	}
	return out
}
