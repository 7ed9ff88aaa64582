package binpack

import "slices"

// A sharedList is the shared demands of a problem. Lists of indices in rising order refer to them.
type sharedList []SharedDemand

// union returns the union of both lists of indices. The result may be one of the arguments.
func union(a, b []int) []int {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return b
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// containsAll reports whether list a contains all indices of b.
func containsAll(a, b []int) bool {
	for _, x := range b {
		if _, ok := slices.BinarySearch(a, x); !ok {
			return false
		}
	}
	return true
}

// without returns the indices of a that are not in b. The result may be a itself.
func without(a, b []int) []int {
	if len(a) == 0 || len(b) == 0 {
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(x int) bool {
		_, ok := slices.BinarySearch(b, x)
		return ok
	})
}

// take subtracts n units from free for each of the listed shared demands.
func (s sharedList) take(list []int, free []int64, n int64) {
	for _, x := range list {
		free[s[x].Dimension] -= n
	}
}

// fit reports whether free holds demand plus the listed shared demands.
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

// copies returns how many copies of demand free holds, at most limit, after it provides the listed shared demands
// once.
func (s sharedList) copies(demand, free []int64, list []int, limit int) int {
	if len(list) > 0 {
		free = slices.Clone(free)
		s.take(list, free, 1)
		if slices.ContainsFunc(list, func(x int) bool { return free[s[x].Dimension] < 0 }) {
			return 0
		}
	}
	return copiesThatFit(demand, free, limit)
}
