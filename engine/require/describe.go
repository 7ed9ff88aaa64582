package require

import (
	"fmt"
	"strings"
)

// shown is the maximum number of values that String prints. The others are only counted.
const shown = 12

// String returns r as users read it, such as "zone in [a, b]", "zone absent" or "generation >= 6 and not in [7]".
func (r Requirement) String() string {
	s := r.key + " " + r.words()
	if r.minValues > 0 {
		s += fmt.Sprintf(" (at least %d of them)", r.minValues)
	}
	return s
}

// words returns the text of r without the key.
func (r Requirement) words() string {
	if !r.complement {
		switch {
		case len(r.values) > 0:
			return "in [" + list(r.values) + "]"
		case r.absent:
			return "absent"
		}
		return "impossible"
	}

	var parts []string
	if r.bounds.hasGte {
		parts = append(parts, fmt.Sprintf(">= %d", r.bounds.gte))
	}
	if r.bounds.hasLte {
		parts = append(parts, fmt.Sprintf("<= %d", r.bounds.lte))
	}
	if len(parts) == 0 && !r.absent {
		parts = append(parts, "present")
	}
	if len(r.values) > 0 {
		parts = append(parts, "not in ["+list(r.values)+"]")
	}
	if len(parts) == 0 {
		return "anything"
	}
	return strings.Join(parts, " and ")
}

// list returns the values separated by commas, at most shown of them. The empty value is shown as "".
func list(values []string) string {
	if len(values) > 0 && values[0] == "" { // the empty value sorts first
		values = append([]string{`""`}, values[1:]...)
	}
	if len(values) <= shown {
		return strings.Join(values, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(values[:shown], ", "), len(values)-shown)
}
