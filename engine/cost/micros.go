package cost

import (
	"math"
	"math/bits"
)

// Micros is an amount of money in millionths of a dollar, or a price in millionths of a dollar per hour.
type Micros int64

// MaxMicros is the highest price of one node: a million dollars per hour. Higher prices are replaced by it, so the sum
// over nine million nodes does not overflow.
const MaxMicros Micros = 1e12

// MicrosOf converts dollars, rounded to the nearest. Amounts that are negative or not a number count as zero, amounts
// above MaxMicros as MaxMicros.
func MicrosOf(dollars float64) Micros {
	v := math.Round(dollars * 1e6)
	switch {
	case !(v > 0): // also true if v is not a number
		return 0
	case v >= float64(MaxMicros):
		return MaxMicros
	}
	return Micros(v)
}

// Dollars returns m in dollars.
func (m Micros) Dollars() float64 { return float64(m) / 1e6 }

// Split divides total by weights. The parts add up to total. Each differs by less than one from its exact share: it is
// the difference of two running sums, rounded down. If no weight is positive, the last part gets everything. Negative
// weights count as zero. total is not negative, and there is at least one weight.
func Split(total Micros, weights []int64) []Micros {
	// drop is the number of low bits that are removed from each weight, so that no sum of weights overflows. The error is about
	// 2^-53 of the largest weight, which is harmless. If no sum can overflow, drop is 0.
	drop := uint(bits.Len(uint(len(weights))))
	whole, largest := uint64(0), int64(0)
	for _, w := range weights {
		largest = max(largest, w)
	}
	if bits.Len64(uint64(largest))+int(drop) < 64 {
		drop = 0
	}
	for _, w := range weights {
		whole += uint64(max(w, 0)) >> drop
	}
	parts := make([]Micros, len(weights))
	if whole == 0 {
		parts[len(parts)-1] = total
		return parts
	}
	sum, given := uint64(0), Micros(0)
	for i, w := range weights {
		sum += uint64(max(w, 0)) >> drop
		high, low := bits.Mul64(uint64(total), sum)
		quotient, _ := bits.Div64(high, low, whole) // sum <= whole, so the quotient is at most total
		parts[i] = Micros(quotient) - given
		given = Micros(quotient)
	}
	return parts
}
