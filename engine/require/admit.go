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

// bounds are a closed interval of integers with optional ends. A missing end is stored as 0, so that == compares
// bounds.
type bounds struct {
	gte, lte       int64
	hasGte, hasLte bool
}

// none reports whether b has no end. Then it admits any value, even if it is not an integer.
func (b bounds) none() bool { return !b.hasGte && !b.hasLte }

// has reports whether value is an integer within b. If b has no end, it admits any value.
func (b bounds) has(value string) bool {
	if b.none() {
		return true
	}
	// Most label values are words, and a parse error allocates.
	if value == "" || (value[0] > '9' || value[0] < '0') && value[0] != '-' && value[0] != '+' {
		return false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && (!b.hasGte || n >= b.gte) && (!b.hasLte || n <= b.lte)
}

// and returns the intersection of b and o.
func (b bounds) and(o bounds) bounds {
	if o.hasGte && (!b.hasGte || o.gte > b.gte) {
		b.gte, b.hasGte = o.gte, true
	}
	if o.hasLte && (!b.hasLte || o.lte < b.lte) {
		b.lte, b.hasLte = o.lte, true
	}
	return b
}

// crossed reports whether b contains no integer.
func (b bounds) crossed() bool { return b.hasGte && b.hasLte && b.gte > b.lte }

// first returns the integer at which a search for values begins: the smallest integer within b that is not negative, because a
// label value cannot start with "-". The upper end is never negative (see parseBound).
func (b bounds) first() int64 { return max(b.gte, 0) } // gte is 0 if it is missing

// Intersect returns the requirement that admits what both r and o admit, with the larger of their MinValues. Both have
// the same key. It is commutative, associative and idempotent.
func (r Requirement) Intersect(o Requirement) Requirement {
	out := Requirement{
		key:       r.key,
		absent:    r.absent && o.absent,
		minValues: max(r.minValues, o.minValues),
	}
	if !r.complement || !o.complement {
		few, other := fewest(r, o)
		out.values = keep(few.values, other.Has)
		return out
	}
	if b := r.bounds.and(o.bounds); !b.crossed() {
		out.complement, out.bounds = true, b
		out.values = keep(sorted(slices.Concat(r.values, o.values)), b.has)
	}
	return out
}

// fewest returns r and o in the order in which the values of the first one are to be looked up in the second: the first one
// lists its values, and the second one is an open set or lists at least as many. One of r and o is not an open set.
func fewest(r, o Requirement) (few, other Requirement) {
	if r.complement || !o.complement && len(o.values) < len(r.values) {
		return o, r
	}
	return r, o
}

// Overlaps reports whether r and o admit a common value. Absence is not a value. For two open sets only the bounds are
// compared, so the result is true even if each integer within both bounds is excluded.
func (r Requirement) Overlaps(o Requirement) bool {
	if r.complement && o.complement {
		return !r.bounds.and(o.bounds).crossed()
	}
	few, other := fewest(r, o)
	return slices.ContainsFunc(few.values, other.Has)
}

// agrees reports whether r and o admit a common value, or both admit absence.
func (r Requirement) agrees(o Requirement) bool {
	return r.absent && o.absent || r.Overlaps(o)
}

// keep returns the values for which ok is true: the slice itself if all are, nil if none is. It calls ok once for each
// value, in order.
func keep(values []string, ok func(string) bool) []string {
	n := slices.IndexFunc(values, func(v string) bool { return !ok(v) })
	if n < 0 {
		return values
	}
	out := append([]string(nil), values[:n]...)
	for _, v := range values[n+1:] {
		if ok(v) {
			out = append(out, v)
		}
	}
	return out
}
