package sparse

import (
	"math/bits"
	"slices"
)

// A gapTable finds the two most valuable entries that fit into a free capacity (x, y). It rounds the capacity down to
// the amounts of two grids.
type gapTable struct {
	x, y grid
	// best holds, for each cell of the two grids, the indices in packer.entries of the two most valuable entries that fit, the
	// more valuable one first. noEntry marks a missing one. A capacity (a, b) has the cell i*(n+1)+j, where i amounts of grid
	// x are at most a, j amounts of grid y are at most b, and n is the number of amounts of grid y.
	best [][2]int32
}

// A grid holds the distinct demands of all entries in one dimension, rising. If there are more than maxSteps, it keeps
// evenly spaced ones and rounds other demands up to the next. So a table may omit an entry that fits, but never returns
// one that does not fit.
type grid struct {
	amounts   []int64
	countUpTo []int16 // countUpTo[i] is the number of amounts up to i<<shift, where upTo begins to count
	shift     int
}

const (
	// A grid has at most maxSteps amounts and maxGrains elements of countUpTo. noEntry marks a missing entry; it exceeds
	// any index.
	maxSteps  = 256
	maxGrains = 2048
	noEntry   = 1<<31 - 1
)

// set rebuilds the grid for these amounts, which it sorts. There must be at least one.
func (s *grid) set(amounts []int64) {
	slices.Sort(amounts)
	amounts = slices.Compact(amounts)
	stride := (len(amounts) + maxSteps - 1) / maxSteps
	s.amounts = s.amounts[:0]
	for i := (len(amounts) - 1) % stride; i < len(amounts); i += stride {
		s.amounts = append(s.amounts, amounts[i])
	}
	most := s.amounts[len(s.amounts)-1]
	s.shift = max(0, bits.Len64(uint64(most))-bits.Len(maxGrains-1))
	s.countUpTo = s.countUpTo[:0]
	n := 0
	for i := range most>>s.shift + 1 {
		for n < len(s.amounts) && s.amounts[n] <= i<<s.shift {
			n++
		}
		s.countUpTo = append(s.countUpTo, int16(n))
	}
}

// upTo returns the number of amounts that are at most v. v must not be negative.
func (s *grid) upTo(v int64) int {
	g := v >> s.shift
	if g >= int64(len(s.countUpTo)) {
		return len(s.amounts)
	}
	n := int(s.countUpTo[g])
	for n < len(s.amounts) && s.amounts[n] <= v {
		n++
	}
	return n
}

// set rebuilds the table for the entries, at least one, which must be ordered by falling value.
func (g *gapTable) set(entries []entry) {
	x, y := make([]int64, len(entries)), make([]int64, len(entries))
	for i := range entries {
		x[i], y[i] = entries[i].x, entries[i].y
	}
	g.x.set(x)
	g.y.set(y)
	w := len(g.y.amounts) + 1
	size := w * (len(g.x.amounts) + 1)
	g.best = slices.Grow(g.best[:0], size)[:size]
	for i := range g.best {
		g.best[i] = [2]int32{noEntry, noEntry}
	}
	for i := range entries {
		x, _ := slices.BinarySearch(g.x.amounts, entries[i].x)
		y, _ := slices.BinarySearch(g.y.amounts, entries[i].y)
		at := &g.best[(x+1)*w+y+1]
		*at = firstTwo(*at, [2]int32{int32(i), noEntry})
	}
	for at := w + 1; at < size; at++ {
		if at%w != 0 {
			g.best[at] = firstTwo(g.best[at], firstTwo(g.best[at-1], g.best[at-w]))
		}
	}
}

// firstTwo returns the two smallest distinct numbers among those of a and b, the smaller first. a and b must be ordered so.
func firstTwo(a, b [2]int32) [2]int32 {
	switch {
	case a[0] < b[0]:
		return [2]int32{a[0], min(a[1], b[0])}
	case a[0] > b[0]:
		return [2]int32{b[0], min(a[0], b[1])}
	}
	return [2]int32{a[0], min(a[1], b[1])}
}

// within returns the indices of the two most valuable entries that each fit alone into the free capacity (x, y). The
// more valuable one is first; noEntry marks a missing one. A coarse grid may miss an entry that fits.
func (g *gapTable) within(x, y int64) [2]int32 {
	return g.best[g.x.upTo(x)*(len(g.y.amounts)+1)+g.y.upTo(y)]
}
