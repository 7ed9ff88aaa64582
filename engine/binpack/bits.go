package binpack

import (
	"math/bits"
	"slices"
)

// Bits is a set of the bin types of one catalog, by index.
type Bits []uint64

// NewBits returns the empty set of n types.
func NewBits(n int) Bits { return make(Bits, (n+63)/64) }

// Set adds type i.
func (b Bits) Set(i int) { b[i/64] |= 1 << (i % 64) }

// Unset removes type i.
func (b Bits) Unset(i int) { b[i/64] &^= 1 << (i % 64) }

// Has reports whether type i is in the set.
func (b Bits) Has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// Any reports whether the set is not empty.
func (b Bits) Any() bool { return slices.ContainsFunc(b, func(w uint64) bool { return w != 0 }) }

// And returns the intersection of both sets as a new set.
func (b Bits) And(o Bits) Bits {
	out := make(Bits, len(b))
	for i := range b {
		out[i] = b[i] & o[i]
	}
	return out
}

// Each calls f for every type in the set, in rising order.
func (b Bits) Each(f func(i int)) {
	for w, word := range b {
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}

// A tally counts for each type the sets that contain it. Element i of the tally holds bit i of every count. Thus one
// word operation updates 64 counts.
type tally []Bits

func (t *tally) add(b Bits) {
	for w, carry := range b {
		for i := 0; carry != 0; i++ {
			if i == len(*t) {
				*t = append(*t, make(Bits, len(b)))
			}
			word := &(*t)[i][w]
			*word, carry = *word^carry, *word&carry
		}
	}
}

// of returns the count of type i.
func (t tally) of(i int) int {
	n := 0
	for bit, b := range t {
		if b.Has(i) {
			n |= 1 << bit
		}
	}
	return n
}
