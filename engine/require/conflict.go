package require

import (
	"cmp"
	"fmt"
	"strings"
)

// A Conflict says on which label two sets disagree. It is cheap to make; the
// sentence and the hint are made when somebody asks.
type Conflict struct {
	Key       string
	Have      Requirement // what is there; the zero value if Undefined
	Want      Requirement // what was asked for
	Undefined bool        // nothing gives the node this label
	Hint      string      // the key that was probably meant; see WithHint
}

// String returns one sentence without a full stop.
func (c Conflict) String() string {
	if c.Want.contradiction() {
		return fmt.Sprintf("the constraints on %s contradict each other", c.Key)
	}
	if !c.Undefined {
		return fmt.Sprintf("wants %s, but has %s", c.Want, c.Have)
	}
	s := fmt.Sprintf("wants %s, but no such label is defined", c.Want)
	if c.Hint != "" {
		s += fmt.Sprintf("; did you mean %s?", c.Hint)
	}
	return s
}

// WithHint returns c with the key among known that was probably meant by an
// undefined one: best one that is at most two typing errors away, else one with the
// same name after the slash, else one that contains the key. Among those the
// nearest wins, and among equals the first in order. Without such a key c is
// returned as it is.
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

// unlike is the likeness of keys that have nothing to do with each other.
const unlike = 3

// likeness ranks how near known is to key, at an edit distance of d: less is nearer.
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

// name is the part of a label key after the slash.
func name(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// distance is the number of single-byte edits between a and b (Levenshtein).
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
