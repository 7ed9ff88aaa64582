package literature

import (
	"cmp"
	"slices"
)

// FirstFitDecreasing returns the number of bins that first-fit decreasing opens, with items sorted by descending
// weighted sum of their demands (FFDSum of Panigrahy et al.).
func FirstFitDecreasing(items [][]int64, capacity []int64) int {
	weights := weights(items, capacity)
	order := slices.Clone(items)
	slices.SortStableFunc(order, func(a, b []int64) int { return cmp.Compare(size(b, weights), size(a, weights)) })
	var bins [][]int64
	for _, it := range order {
		at := slices.IndexFunc(bins, func(free []int64) bool { return fits(it, free) })
		if at < 0 {
			at = len(bins)
			bins = append(bins, slices.Clone(capacity))
		}
		put(it, bins[at])
	}
	return len(bins)
}

// DotProduct returns the number of bins that the dot-product heuristic opens. It fills one bin after another, each time
// with the fitting item whose weighted inner product with the free capacity is largest.
func DotProduct(items [][]int64, capacity []int64) int {
	weights, left, bins := weights(items, capacity), slices.Clone(items), 0
	for len(left) > 0 {
		bins++
		free := slices.Clone(capacity)
		for {
			best, most := -1, -1.0
			for i, it := range left {
				if !fits(it, free) {
					continue
				}
				product := 0.0
				for d, v := range it {
					product += weights[d] * float64(v) * float64(free[d]) / float64(capacity[d])
				}
				if product > most {
					best, most = i, product
				}
			}
			if best < 0 {
				break
			}
			put(left[best], free)
			left = slices.Delete(left, best, best+1)
		}
	}
	return bins
}

// weights returns the weight of a unit of demand in each dimension: the scarcity of the dimension, divided by its capacity.
// The scarcity is the mean demand as a fraction of the capacity.
func weights(items [][]int64, capacity []int64) []float64 {
	out := make([]float64, len(capacity))
	for d, c := range capacity {
		for _, it := range items {
			out[d] += float64(it[d]) / float64(c) / float64(len(items))
		}
		out[d] /= float64(c)
	}
	return out
}

func size(it []int64, weights []float64) float64 {
	sum := 0.0
	for d, v := range it {
		sum += weights[d] * float64(v)
	}
	return sum
}

func fits(it, free []int64) bool {
	for d, v := range it {
		if v > free[d] {
			return false
		}
	}
	return true
}

func put(it, free []int64) {
	for d, v := range it {
		free[d] -= v
	}
}
