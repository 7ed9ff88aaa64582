package binpack

import (
	"encoding/binary"
	"math"
)

// countOf returns N for the group in counts, 0 if the list lacks the group.
func countOf(counts []Count, group int) int {
	for _, c := range counts {
		if c.Group == group {
			return c.N
		}
	}
	return 0
}

// A load holds the state of each conflict group g in the bin under construction. present[g] is the number of counted
// copies. limit[g] is the lowest hard bound of the items in the bin. Entries are valid if their stamp is bin.
type load struct {
	present, limit []int
	stamp          []int
	bin            int
}

func newLoad(groups int) *load {
	return &load{present: make([]int, groups), limit: make([]int, groups), stamp: make([]int, groups)}
}

// reset starts a new bin with the preloaded counts of its type.
func (l *load) reset(preload []Count) {
	l.bin++
	for _, c := range preload {
		l.touch(c.Group)
		l.present[c.Group] += c.N
	}
}

func (l *load) touch(group int) {
	if l.stamp[group] != l.bin {
		l.stamp[group], l.present[group], l.limit[group] = l.bin, 0, math.MaxInt32
	}
}

// admits returns how many of n copies of the item the bin admits. Both the bounds of the item and the bounds of the
// bin's items must hold.
func (l *load) admits(it *Item, n int) int {
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

// add adds n copies of the item to the counts of the bin, and its hard bounds to the limits.
func (l *load) add(it *Item, n int) {
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

// conflictKey appends an encoding of the item's counts and bounds. Items with equal encodings can replace each other.
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
