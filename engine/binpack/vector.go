package binpack

import "math"

// copiesThatFit returns how many times demand fits into free, at most limit.
func copiesThatFit(demand, free []int64, limit int) int {
	n := int64(limit)
	for d, v := range demand {
		if v > 0 {
			n = min(n, max(free[d], 0)/v)
		}
	}
	return int(n)
}

// subtract takes n times demand out of free.
func subtract(free, demand []int64, n int) {
	for d, v := range demand {
		free[d] -= v * int64(n)
	}
}

// fitsIn reports whether free holds demand. A demand of 0 fits where nothing is free.
func fitsIn(demand, free []int64) bool {
	for d, v := range demand {
		if v > 0 && v > free[d] {
			return false
		}
	}
	return true
}

// scale returns amounts in units, negative ones as 0.
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
		sum += float64(a[i] * b[i]) // the conversion forbids fused arithmetic: same solution on any machine
	}
	return sum
}

const (
	// infinite is more than any price.
	infinite = math.MaxFloat64
	// minPrice stands in for a price of zero, by which any waste would look free.
	minPrice = 1e-9
	// same is the relative difference below which two prices or ratios count as equal.
	same = 1e-6
	// epsilon is what counts as zero among numbers near one.
	epsilon = 1e-12
	// unlimited stands for a number of bins without bound.
	unlimited = math.MaxInt64
)
