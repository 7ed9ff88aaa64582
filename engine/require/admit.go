package require

import (
	"math"
	"slices"
	"strconv"
)

// Has reports whether r admits the value.
func (r Requirement) Has(value string) bool {
	if !r.complement {
		return contains(r.values, value)
	}
	return r.bounds.has(value) && !contains(r.values, value)
}

// MayBeAbsent reports whether r admits a node without the label.
func (r Requirement) MayBeAbsent() bool { return r.absent }

// Len returns the number of admitted values. For an open set it is MaxInt64 less the number of excluded values,
// regardless of bounds.
func (r Requirement) Len() int {
	if r.complement {
		return math.MaxInt64 - len(r.values)
	}
	return len(r.values)
}

// Empty reports whether r admits no value. That holds for DoesNotExist and for a contradiction; MayBeAbsent distinguishes
// them. It is false for an open set, even if each integer within the bounds is excluded.
func (r Requirement) Empty() bool { return !r.complement && len(r.values) == 0 }

// contradiction reports whether r admits neither a value nor absence.
func (r Requirement) contradiction() bool { return r.Empty() && !r.absent }

// Any returns a value that r admits: the first listed one. For an open set it returns the smallest admitted integer that is
// at least bounds.first. ok is false if r is Empty, or if each integer from bounds.first to the upper end is excluded.
func (r Requirement) Any() (value string, ok bool) {
	if !r.complement {
		if len(r.values) == 0 {
			return "", false
		}
		return r.values[0], true
	}
	first := r.bounds.first()
	for n := range int64(len(r.values)) + 1 { // of n+1 integers, n excluded values leave one
		if value = strconv.FormatInt(first+n, 10); r.Has(value) {
			return value, true
		}
	}
	return "", false
}

// contains reports whether the sorted values contain value.
func contains(values []string, value string) bool {
	if len(values) <= 8 { // a linear scan is faster than a binary search here
		return slices.Contains(values, value)
	}
	_, found := slices.BinarySearch(values, value)
	return found
}
