package binpack

import "math"

// copiesThatFit returns how many copies of demand free holds, at most limit.
func copiesThatFit(demand, free []int64, limit int) int {
	n := int64(limit)
	for d, v := range demand {
		if v > 0 {
			n = min(n, max(free[d], 0)/v)
		}
	}
	return int(n)
}

// subtract subtracts n times demand from free.
func subtract(free, demand []int64, n int) {
	for d, v := range demand {
		free[d] -= v * int64(n)
	}
}

// fitsIn reports whether free holds demand. A demand of 0 fits even if the free amount is negative.
func fitsIn(demand, free []int64) bool {
	for d, v := range demand {
		if v > 0 && v > free[d] {
			return false
		}
	}
	return true
}

// scale returns the amounts divided by units. Negative amounts become 0.
func scale(amounts []int64, units []float64) []float64 {
	out := make([]float64, len(amounts))
	for d, v := range amounts {
		out[d] = float64(max(v, 0)) / units[d]
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i]) // the conversion prevents fused multiply-add: same solution on any machine
	}
	return sum
}

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
