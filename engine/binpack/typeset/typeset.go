package typeset

import (
	"math/bits"
	"slices"
)

// A Set is a set of bin types of one catalog, by index. Bit i%64 of word i/64 is set if type i is in the set.
type Set []uint64

// New returns an empty set for n types.
func New(n int) Set { return make(Set, (n+63)/64) }

// Add adds type i.
func (b Set) Add(i int) { b[i/64] |= 1 << (i % 64) }

// Remove removes type i.
func (b Set) Remove(i int) { b[i/64] &^= 1 << (i % 64) }

// Has reports whether type i is in the set.
func (b Set) Has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// Len returns the number of types in the set.
func (b Set) Len() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Any reports whether the set is not empty.
func (b Set) Any() bool { return slices.ContainsFunc(b, func(w uint64) bool { return w != 0 }) }

// Keep removes the types that are not in o.
func (b Set) Keep(o Set) {
	for i := range b {
		b[i] &= o[i]
	}
}

// Join adds the types of o.
func (b Set) Join(o Set) {
	for i := range b {
		b[i] |= o[i]
	}
}

// And returns the intersection of both sets as a new set.
func (b Set) And(o Set) Set {
	out := slices.Clone(b)
	out.Keep(o)
	return out
}

// Each calls f for every type in the set, in rising order of index.
func (b Set) Each(f func(i int)) {
	for w, word := range b {
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}
