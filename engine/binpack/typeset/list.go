package typeset

import "slices"

// The functions of this file work on small sets of numbers, as sorted lists without duplicates.

// Union returns the union of two sorted lists, sorted. The result may be one of the arguments.
func Union(a, b []int) []int {
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

// ContainsAll reports whether the sorted list a contains all numbers of b.
func ContainsAll(a, b []int) bool {
	for _, x := range b {
		if _, ok := slices.BinarySearch(a, x); !ok {
			return false
		}
	}
	return true
}

// Without returns the numbers of a that are not in b. Both lists are sorted. The result may be a itself.
func Without(a, b []int) []int {
	if len(a) == 0 || len(b) == 0 {
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(x int) bool {
		_, ok := slices.BinarySearch(b, x)
		return ok
	})
}
