package require

// Intersects reports whether, for each key that both constrain, s and o have a common value or both admit absence. If not,
// it also returns the conflict of the first key, in key order, for which neither is the case.
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
// The sets must intersect. For a key that only o constrains, o must admit absence, or undefined must return true: the
// node will get the label although s does not have it. A nil undefined counts as always false. A contradiction in o is
// always a conflict. If the sets are not compatible, ok is false, and the result is the first conflict in key order.
//
// Compatible is not symmetric: keys that only s constrains are ignored.
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

// Implies reports whether every node described by s meets o. For a key that only o constrains, o must admit absence, and
// undefined must return false: the node cannot have the label. A nil undefined counts as always false.
func (s Set) Implies(o Set, undefined func(key string) bool) bool {
	for _, want := range o.reqs {
		have, ok := s.Get(want.key)
		switch {
		case !ok && (!want.absent || undefined != nil && undefined(want.key)):
			return false
		case ok && (have.absent && !want.absent || !have.Empty() && !have.Intersect(want).Equal(have)):
			return false
		}
	}
	return true
}
