package require

import (
	"cmp"
	"fmt"
	"strings"
)

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
