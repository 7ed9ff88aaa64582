package require

import (
	"cmp"
	"fmt"
	"strings"
)

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

// A Conflict is a label for which two sets cannot both hold. Its text is built only by String.
type Conflict struct {
	Key       string
	Have      Requirement // what the node has; zero if Undefined
	Want      Requirement // what is required
	Undefined bool        // the node never has this label
	Hint      string      // a similar known key; see WithHint
}

// String returns one sentence without a full stop.
func (c Conflict) String() string {
	if c.Want.contradiction() {
		return fmt.Sprintf("the constraints on %s contradict each other", c.Key)
	}
	if !c.Undefined {
		return fmt.Sprintf("requires %s, but the NodePool has %s", c.Want, c.Have)
	}
	s := fmt.Sprintf("requires label %s, which no node of the NodePool has", c.Want)
	if c.Hint != "" {
		s += fmt.Sprintf(" (similar key: %s)", c.Hint)
	}
	return s
}

// WithHint returns c with a hint: the known key that the user probably meant. c is returned unchanged if it is not
// Undefined, or if no known key is similar. The best hint is a key at an edit distance of at most 2, then one with the same
// name after the slash, then one that contains the undefined key. Ties are resolved by edit distance, then by key.
func (c Conflict) WithHint(known ...string) Conflict {
	if !c.Undefined || c.Key == "" {
		return c
	}
	best, nearest := unlike, 0
	for _, k := range known {
		d := distance(c.Key, k)
		l := likeness(c.Key, k, d)
		if l == unlike || k == c.Key {
			continue
		}
		if cmp.Or(cmp.Compare(l, best), cmp.Compare(d, nearest), cmp.Compare(k, c.Hint)) < 0 {
			best, nearest, c.Hint = l, d, k
		}
	}
	return c
}

// unlike is the likeness of unrelated keys.
const unlike = 3

// likeness returns the rank of known as a hint for key; lower is better. d is their edit distance.
func likeness(key, known string, d int) int {
	switch {
	case d <= 2:
		return 0
	case name(known) == name(key):
		return 1
	case strings.Contains(known, key):
		return 2
	}
	return unlike
}

// name returns the part of a label key after the slash.
func name(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// distance returns the Levenshtein distance of a and b, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
