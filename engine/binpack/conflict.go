package binpack

import (
	"encoding/binary"
	"math"
)

// countOf returns how much one copy adds to the counter of the group: Count.N of its entry, 0 if there is no entry.
func countOf(counts []Count, group int) int {
	for _, c := range counts {
		if c.Group == group {
			return c.N
		}
	}
	return 0
}

// A conflictState holds the counters of the conflict groups in the bin that is being built. present[g] is the counter
// of group g. limit[g] is the lowest hard bound on it of the items in the bin, math.MaxInt32 if there is none. Both are
// valid only if stamp[g] equals bin. Otherwise no item in the bin has a count or hard bound for g.
type conflictState struct {
	present, limit []int
	stamp          []int
	bin            int // number of the current bin, from 1; a new number starts an empty bin
}

func newConflictState(groups int) *conflictState {
	return &conflictState{present: make([]int, groups), limit: make([]int, groups), stamp: make([]int, groups)}
}

// touch makes present and limit of a group valid: it resets them if they belong to an earlier bin.
func (l *conflictState) touch(group int) {
	if l.stamp[group] != l.bin {
		l.stamp[group], l.present[group], l.limit[group] = l.bin, 0, math.MaxInt32
	}
}

// admits returns how many copies of the item, at most n, may be added to the bin. The bounds of the item and of the
// bin's items limit the number.
func (l *conflictState) admits(it *Item, n int) int {
	for _, b := range it.Bounds {
		l.touch(b.Group)
		present := l.present[b.Group]
		if present > b.Max {
			return 0
		}
		if own := countOf(it.Counts, b.Group); own > 0 {
			n = min(n, (b.Max-present)/own)
		}
	}
	for _, c := range it.Counts {
		l.touch(c.Group)
		n = min(n, (l.limit[c.Group]-l.present[c.Group])/c.N)
	}
	return max(n, 0)
}

// add adds n copies of the item to the counters, and its hard bounds to the limits.
func (l *conflictState) add(it *Item, n int) {
	for _, c := range it.Counts {
		l.touch(c.Group)
		l.present[c.Group] += n * c.N
	}
	for _, b := range it.Bounds {
		if !b.Soft {
			l.touch(b.Group)
			l.limit[b.Group] = min(l.limit[b.Group], b.Max)
		}
	}
}

// conflictKey appends an encoding of the item's counts and bounds to b. Different counts or bounds have different encodings.
func conflictKey(b []byte, it *Item) []byte {
	for _, x := range it.Bounds {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(x.Group)), int64(x.Max))
		if x.Soft {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	b = binary.AppendVarint(b, -1)
	for _, x := range it.Counts {
		b = binary.AppendVarint(binary.AppendVarint(b, int64(x.Group)), int64(x.N))
	}
	return b
}
