// Package vector does arithmetic on demand and capacity vectors. Vectors of one problem have equal lengths.
package vector

// Copies returns how many times demand fits into free, at most limit. A demand of 0 fits into any free amount.
func Copies(demand, free []int64, limit int) int {
	n := int64(limit)
	for d, v := range demand {
		if v > 0 {
			n = min(n, max(free[d], 0)/v)
		}
	}
	return int(n)
}

// Subtract subtracts n times demand from free. A negative n adds it.
func Subtract(free, demand []int64, n int) {
	for d, v := range demand {
		free[d] -= v * int64(n)
	}
}

// Fits reports whether demand fits into free. A negative free amount counts as 0.
func Fits(demand, free []int64) bool {
	_, _, short := Short(demand, free)
	return !short
}

// Short returns the first dimension in which demand exceeds free, and by how much. A negative free amount counts as
// 0. short is false if demand fits.
func Short(demand, free []int64) (dimension int, by int64, short bool) {
	for d, v := range demand {
		if v > 0 && v > free[d] {
			return d, v - max(free[d], 0), true
		}
	}
	return 0, 0, false
}

// Scale returns amounts[d] divided by units[d] for each dimension d, with 0 for negative amounts.
func Scale(amounts []int64, units []float64) []float64 {
	out := make([]float64, len(amounts))
	for d, v := range amounts {
		out[d] = float64(max(v, 0)) / units[d]
	}
	return out
}

// Dot returns the inner product of a and b.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i]) // the conversion prevents fused multiply-add: same result on any machine
	}
	return sum
}
