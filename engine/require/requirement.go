package require

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Operator is the relation between a label and the values of a requirement.
type Operator = corev1.NodeSelectorOperator

// The operators of requirements. Gte and Lte exist only in Karpenter, not in core/v1.
const (
	In           = corev1.NodeSelectorOpIn
	NotIn        = corev1.NodeSelectorOpNotIn
	Exists       = corev1.NodeSelectorOpExists
	DoesNotExist = corev1.NodeSelectorOpDoesNotExist
	Gt           = corev1.NodeSelectorOpGt
	Lt           = corev1.NodeSelectorOpLt

	Gte Operator = "Gte"
	Lte Operator = "Lte"
)

// A Requirement is the set of values that a label may have, and whether a node may lack the label. The zero Requirement has
// no key and admits nothing. A requirement that lists excluded values instead of admitted ones is an open set.
//
// Requirements of one key that admit the same values have equal fields, except minValues. Therefore only open sets have
// bounds, excluded values lie within the bounds, and bounds that no integer meets become the empty list of values. The
// exception is an open set that excludes each integer within its bounds: it stays an open set.
type Requirement struct {
	key    string
	values []string // sorted, without duplicates; excluded values if complement; immutable

	complement bool // values are excluded
	absent     bool // a node without the label is admitted
	bounds     bounds
	minValues  int
}

// New returns the requirement "key op values". The values may be in any order, with duplicates.
//
// An invalid requirement admits nothing, so that it matches no node by mistake. It has an unknown operator, or a
// numeric operator without exactly one base-10 int64 operand. New reports no error, because the API server
// rejects such objects. A requirement that only negative integers meet, such as "Lt 0", admits nothing either, because no
// label has such a value.
func New(key string, op Operator, values ...string) Requirement {
	switch op {
	case In:
		return Requirement{key: key, values: sorted(values)}
	case NotIn:
		return Requirement{key: key, values: sorted(values), complement: true, absent: true}
	case Exists:
		return Requirement{key: key, complement: true}
	case DoesNotExist:
		return Requirement{key: key, absent: true}
	case Gt, Gte, Lt, Lte:
		if b, ok := parseBound(op, values); ok {
			return Requirement{key: key, complement: true, bounds: b}
		}
	}
	return Requirement{key: key}
}

// WithMinValues returns r with minValues n: the options of a plan must have at least n different values. Zero or less
// means no bound.
func (r Requirement) WithMinValues(n int) Requirement {
	r.minValues = max(n, 0)
	return r
}

// MinValues returns how many different values the options of a plan must have; 0 means no bound.
func (r Requirement) MinValues() int { return r.minValues }

// Key returns the label key.
func (r Requirement) Key() string { return r.key }

// Operator returns the single operator nearest to r: In, NotIn, Exists or DoesNotExist, or Gte for a requirement with
// bounds (Lte if it has only an upper bound). In without values is a contradiction. Spec returns all of r.
func (r Requirement) Operator() Operator {
	switch {
	case r.bounds.hasGte:
		return Gte
	case r.bounds.hasLte:
		return Lte
	case r.complement && (r.absent || len(r.values) > 0):
		return NotIn
	case r.complement:
		return Exists
	case r.absent:
		return DoesNotExist
	}
	return In
}

// Values returns a copy of the sorted list of admitted values, or of excluded ones if r is an open set.
func (r Requirement) Values() []string { return slices.Clone(r.values) }

// Each ranges over Values without a copy.
func (r Requirement) Each() iter.Seq[string] { return slices.Values(r.values) }

// Listed ranges over the values that r admits, in order, if it lists them. It is empty for an open set, whose Values are excluded.
func (r Requirement) Listed() iter.Seq[string] {
	if r.complement {
		return slices.Values[[]string](nil)
	}
	return slices.Values(r.values)
}

// Equal reports whether r and o have the same key and MinValues and admit the same values.
func (r Requirement) Equal(o Requirement) bool {
	return r.key == o.key && r.complement == o.complement && r.absent == o.absent &&
		r.minValues == o.minValues && r.bounds == o.bounds && slices.Equal(r.values, o.values)
}

// sorted returns a sorted copy of the values without duplicates.
func sorted(values []string) []string {
	return slices.Clip(slices.Compact(slices.Sorted(slices.Values(values))))
}

// parseBound returns the bound of a numeric operator. ok is false if it has not exactly one operand, if the operand is no
// int64, or if no int64 that is a label value meets the bound. Label values cannot start with "-", so "Lt 0" is such a bound.
func parseBound(op Operator, values []string) (bounds, bool) {
	if len(values) != 1 {
		return bounds{}, false
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return bounds{}, false
	}
	switch op {
	case Gt:
		return bounds{gte: n + 1, hasGte: true}, n+1 > n
	case Gte:
		return bounds{gte: n, hasGte: true}, true
	case Lt:
		return bounds{lte: n - 1, hasLte: true}, n > 0
	default:
		return bounds{lte: n, hasLte: true}, n >= 0
	}
}

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
