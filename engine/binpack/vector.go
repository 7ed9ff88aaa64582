package binpack

import "math"

const (
	// infinite is larger than any price of an offer.
	infinite = math.MaxFloat64
	// minPrice replaces a price of zero, at which unused capacity would cost nothing.
	minPrice = 1e-9
	// same is the relative difference below which two prices or ratios are taken for equal.
	same = 1e-6
	// epsilon: of two scores that differ by at most this, addBest takes the first. Typical scores are near one.
	epsilon = 1e-12
	// unlimited is the number of bins that can be opened if nothing limits it.
	unlimited = math.MaxInt64
)
