package binpack

import "math"

const (
	// infinite is larger than any price of an offer.
	infinite = math.MaxFloat64
	// minPrice replaces a price of zero, at which unused capacity would cost nothing.
	minPrice = 1e-9
	// same is the relative difference below which two prices or ratios count as equal.
	same = 1e-6
	// epsilon is the magnitude below which a number counts as zero. Typical numbers are near one.
	epsilon = 1e-12
	// unlimited represents an unbounded number of bins.
	unlimited = math.MaxInt64
)
