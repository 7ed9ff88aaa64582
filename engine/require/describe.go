package require

import (
	"fmt"
	"strings"
)

// shown is how many values String lists before it counts the rest.
const shown = 12

// String says r in a reader's words, such as "zone in a, b", "zone absent" or
// "generation >= 6 and not in 7". Long lists are cut short.
func (r Requirement) String() string {
	s := r.key + " " + r.words()
	if r.minValues > 0 {
		s += fmt.Sprintf(" (at least %d of them)", r.minValues)
	}
	return s
}

// words is String without the key.
func (r Requirement) words() string {
	if !r.complement {
		switch {
		case len(r.values) > 0:
			return "in " + list(r.values)
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
		parts = append(parts, "not in "+list(r.values))
	}
	if len(parts) == 0 {
		return "anything"
	}
	return strings.Join(parts, " and ")
}

// list joins values for a reader.
func list(values []string) string {
	if len(values) <= shown {
		return strings.Join(values, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(values[:shown], ", "), len(values)-shown)
}
