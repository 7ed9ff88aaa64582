package binpack

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// countOf returns how much one copy adds to the counter of the group: Count.N of its entry, 0 if there is no entry.
// The counts are rising by group. A pod with many host ports has one for each, so the search must not be linear.
func countOf(counts []Count, group int) int {
	if i, ok := slices.BinarySearchFunc(counts, group, func(c Count, group int) int { return c.Group - group }); ok {
		return counts[i].N
	}
	return 0
}

// A conflictState holds the counters of the conflict groups in the bin that is being built.
type conflictState struct {
	counters []counter // by group
	bin      int       // number of the current bin, from 1; a new number starts an empty bin
}

// A counter is that of a conflict group, and limit the lowest hard bound on it of the items in the bin, math.MaxInt32 if there
// is none. Both belong to the bin with number bin.
type counter struct{ present, limit, bin int }

// of returns the counter of a group in the current bin. It resets a counter that belongs to an earlier bin.
func (l *conflictState) of(group int) *counter {
	c := &l.counters[group]
	if c.bin != l.bin {
		*c = counter{0, math.MaxInt32, l.bin}
	}
	return c
}

// admits returns how many copies of the item, at most n, may be added to the bin. The bounds of the item and of the
// bin's items limit the number.
func (l *conflictState) admits(it *Item, n int) int {
	for _, b := range it.Bounds {
		present := l.of(b.Group).present
		if present > b.Max {
			return 0
		}
		if own := countOf(it.Counts, b.Group); own > 0 {
			n = min(n, (b.Max-present)/own)
		}
	}
	for _, x := range it.Counts {
		c := l.of(x.Group)
		n = min(n, (c.limit-c.present)/x.N)
	}
	return max(n, 0)
}

// add adds n copies of the item to the counters, and its hard bounds to the limits.
func (l *conflictState) add(it *Item, n int) {
	for _, x := range it.Counts {
		l.of(x.Group).present += n * x.N
	}
	for _, b := range it.Bounds {
		if !b.Soft {
			c := l.of(b.Group)
			c.limit = min(c.limit, b.Max)
		}
	}
}

// conflictKey appends an encoding of the item's counts and bounds to b. Different counts or bounds have different encodings.
func conflictKey(b []byte, it *Item) []byte {
	for _, x := range it.Bounds {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(x.Group)), int64(x.Max))
		b = strconv.AppendBool(b, x.Soft)
	}
	b = binary.AppendVarint(b, -1)
	for _, x := range it.Counts {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(x.Group)), int64(x.N))
	}
	return b
}
