package require

// Intersects reports whether s and o agree on every key that both constrain: some
// value is admitted by both, or a node without the label is. Otherwise it returns
// the conflict on the first such key in key order, and ok=false.
func (s Set) Intersects(o Set) (Conflict, bool) {
	a, b := s.reqs, o.reqs
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].key < b[0].key:
			a = a[1:]
		case a[0].key > b[0].key:
			b = b[1:]
		case !a[0].agrees(b[0]):
			return Conflict{Key: a[0].key, Have: a[0], Want: b[0]}, false
		default:
			a, b = a[1:], b[1:]
		}
	}
	return Conflict{}, true
}

// Compatible reports whether a node described by s can meet o.
//
// They must intersect, and a key that o constrains and s does not must be one
// that may be absent by o, or one for which undefined holds: a label that the
// node will get although s does not speak of it. A nil undefined allows none.
// Otherwise Compatible returns the first conflict in key order, and ok=false.
//
// It is not symmetric: what s alone constrains does not matter to o.
func (s Set) Compatible(o Set, undefined func(key string) bool) (Conflict, bool) {
	a := s.reqs
	for _, want := range o.reqs {
		for len(a) > 0 && a[0].key < want.key {
			a = a[1:]
		}
		if len(a) > 0 && a[0].key == want.key {
			if !a[0].agrees(want) {
				return Conflict{Key: want.key, Have: a[0], Want: want}, false
			}
			continue
		}
		switch {
		case want.absent:
		case want.contradiction():
			return Conflict{Key: want.key, Have: New(want.key, NotIn), Want: want}, false
		case undefined == nil || !undefined(want.key):
			return Conflict{Key: want.key, Want: want, Undefined: true}, false
		}
	}
	return Conflict{}, true
}
