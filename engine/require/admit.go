package require

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Has reports whether a label of this value is admitted.
func (r Requirement) Has(value string) bool {
	if !r.complement {
		return contains(r.values, value)
	}
	return r.bounds.has(value) && !contains(r.values, value)
}

// MayBeAbsent reports whether a node without the label is admitted.
func (r Requirement) MayBeAbsent() bool { return r.absent }

// Len is how many values are admitted. For an open set it is MaxInt64 less the
// excluded ones, whatever the bounds: large, and smaller the more is excluded.
func (r Requirement) Len() int {
	if r.complement {
		return math.MaxInt64 - len(r.values)
	}
	return len(r.values)
}

// Empty reports whether no value is admitted. DoesNotExist is empty as well as
// a contradiction; MayBeAbsent tells them apart.
func (r Requirement) Empty() bool { return !r.complement && len(r.values) == 0 }

// contradiction reports whether nothing is admitted, not even absence.
func (r Requirement) contradiction() bool { return r.Empty() && !r.absent }

// Any returns a value that r admits: the smallest listed one, or for an open set
// the smallest integer from zero up that is within bounds and not excluded. It
// returns ok=false if r is Empty.
func (r Requirement) Any() (value string, ok bool) {
	if !r.complement {
		if len(r.values) == 0 {
			return "", false
		}
		return r.values[0], true
	}
	// Among one more integers than are excluded one is free, unless the bounds
	// end first. Then leading zeros make other labels of the same integers.
	for width := 1; ; width++ {
		n := r.bounds.first()
		for range len(r.values) + 1 {
			value = strconv.FormatInt(n, 10)
			if width > 1 {
				value = fmt.Sprintf("%0*d", width, n)
			}
			if r.Has(value) {
				return value, true
			}
			if n == math.MaxInt64 || r.bounds.hasLte && n == r.bounds.lte {
				break
			}
			n++
		}
	}
}

// contains reports whether value is in the sorted values.
func contains(values []string, value string) bool {
	if len(values) <= 8 { // a scan is faster than halving so few
		return slices.Contains(values, value)
	}
	_, found := slices.BinarySearch(values, value)
	return found
}
