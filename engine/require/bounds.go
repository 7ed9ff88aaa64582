package require

import "strconv"

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
