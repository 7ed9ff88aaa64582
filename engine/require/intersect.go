package require

import "slices"

// Intersect returns the requirement that admits what both r and o admit, with the larger of their MinValues. Both have
// the same key. It is commutative, associative and idempotent.
func (r Requirement) Intersect(o Requirement) Requirement {
	out := Requirement{
		key:       r.key,
		absent:    r.absent && o.absent,
		minValues: max(r.minValues, o.minValues),
	}
	switch {
	case !r.complement && !o.complement:
		out.values = common(r.values, o.values)
	case !r.complement:
		out.values = keep(r.values, o.Has)
	case !o.complement:
		out.values = keep(o.values, r.Has)
	default:
		b := r.bounds.and(o.bounds)
		if b.crossed() {
			return out
		}
		out.complement, out.bounds = true, b
		out.values = union(r.values, o.values)
		if !b.none() {
			out.values = keep(out.values, b.has)
		}
	}
	return out
}

// Overlaps reports whether r and o admit a common value. Absence is not a value. For two open sets only the bounds are
// compared, so the result is true even if each integer within both bounds is excluded.
func (r Requirement) Overlaps(o Requirement) bool {
	switch {
	case r.complement && o.complement:
		return !r.bounds.and(o.bounds).crossed()
	case r.complement:
		return slices.ContainsFunc(o.values, r.Has)
	case o.complement:
		return slices.ContainsFunc(r.values, o.Has)
	case len(r.values) > len(o.values):
		return meet(o.values, r.values)
	}
	return meet(r.values, o.values)
}

// agrees reports whether r and o admit a common value, or both admit absence.
func (r Requirement) agrees(o Requirement) bool {
	return r.absent && o.absent || r.Overlaps(o)
}

// meet reports whether two sorted lists have a common value. a is not longer than b.
func meet(a, b []string) bool {
	if len(a)*8 < len(b) { // binary searches are faster than a scan of b
		return slices.ContainsFunc(a, func(v string) bool { return contains(b, v) })
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			return true
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return false
}

// common returns the values in both sorted lists, without a copy if these are the whole shorter list.
func common(a, b []string) []string {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a)*8 < len(b) { // binary searches are faster than a scan of b
		return keep(a, func(v string) bool { return contains(b, v) })
	}
	return keep(a, func(v string) bool { // keep passes the values in ascending order
		for len(b) > 0 && b[0] < v {
			b = b[1:]
		}
		return len(b) > 0 && b[0] == v
	})
}

// keep returns the values for which ok is true: the slice itself if all are, nil if none is. It calls ok once for each
// value, in order.
func keep(values []string, ok func(string) bool) []string {
	n := slices.IndexFunc(values, func(v string) bool { return !ok(v) })
	if n < 0 {
		return values
	}
	var out []string
	if n > 0 {
		out = append(out, values[:n]...)
	}
	for _, v := range values[n+1:] {
		if ok(v) {
			out = append(out, v)
		}
	}
	return out
}

// union returns the values in either sorted list, sorted.
func union(a, b []string) []string {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0 || slices.Equal(a, b):
		return a
	}
	out := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return slices.Clip(append(append(out, a...), b...))
}
