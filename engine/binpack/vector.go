package binpack

import "math"

const (
	// infinite is larger than any price of an offer. +Inf, the price without an offer, is larger than infinite.
	infinite = math.MaxFloat64
	// minValue is the least value of a copy, in dollars per hour.
	minValue = 1e-9
	// same is the relative difference up to which two prices or ratios are regarded as equal.
	same = 1e-6
	// epsilon is the largest difference between two scores that builder.fillByDirection regards as equal. Of equal scores it takes the
	// first. Typical scores are near one.
	epsilon = 1e-12
	// unlimited is the number of bins that can be opened if nothing limits it.
	unlimited = math.MaxInt64
)
