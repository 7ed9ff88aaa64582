package binpack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// A sharedList is Problem.Shared. The methods take lists of indices into it, in rising order.
type sharedList []SharedDemand

// take subtracts n units from free for each shared demand of the list.
func (s sharedList) take(list []int, free []int64, n int64) {
	for _, x := range list {
		free[s[x].Dimension] -= n
	}
}

// fit reports whether the free capacity holds demand plus the shared demands of the list.
func (s sharedList) fit(list []int, demand, free []int64) bool {
	for i, x := range list {
		d, n := s[x].Dimension, int64(1)
		for _, y := range list[:i] {
			if s[y].Dimension == d {
				n++
			}
		}
		if demand[d]+n > free[d] {
			return false
		}
	}
	return true
}

// copies returns how many copies of demand fit into free besides the shared demands of the list, at most limit.
func (s sharedList) copies(demand, free []int64, list []int, limit int) int {
	if len(list) > 0 {
		free = slices.Clone(free)
		s.take(list, free, 1)
		if slices.ContainsFunc(list, func(x int) bool { return free[s[x].Dimension] < 0 }) {
			return 0
		}
	}
	return vector.Copies(demand, free, limit)
}
