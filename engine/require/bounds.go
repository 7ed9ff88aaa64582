package require

import "strconv"

// bounds is an interval of integers, both ends inclusive and optional. An end
// that is not there is stored as 0, so that == compares intervals.
type bounds struct {
	gte, lte       int64
	hasGte, hasLte bool
}

// none reports whether b admits any value, integer or not.
func (b bounds) none() bool { return !b.hasGte && !b.hasLte }

// has reports whether value is an integer within b. Every value is within
// bounds that are none.
func (b bounds) has(value string) bool {
	if b.none() {
		return true
	}
	// Most label values are words; do not pay for a parse error.
	if value == "" || (value[0] > '9' || value[0] < '0') && value[0] != '-' && value[0] != '+' {
		return false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && (!b.hasGte || n >= b.gte) && (!b.hasLte || n <= b.lte)
}

// and returns the tighter of each end.
func (b bounds) and(o bounds) bounds {
	if o.hasGte && (!b.hasGte || o.gte > b.gte) {
		b.gte, b.hasGte = o.gte, true
	}
	if o.hasLte && (!b.hasLte || o.lte < b.lte) {
		b.lte, b.hasLte = o.lte, true
	}
	return b
}

// crossed reports whether no integer lies within b.
func (b bounds) crossed() bool { return b.hasGte && b.hasLte && b.gte > b.lte }

// first is the integer to name when any within b will do: the smallest that is
// not negative, because a label value cannot start with a minus, or else the
// smallest there is.
func (b bounds) first() int64 {
	switch {
	case !b.hasLte || b.lte >= 0:
		return max(b.gte, 0) // gte is 0 when there is none
	case b.hasGte:
		return b.gte
	}
	return b.lte
}
