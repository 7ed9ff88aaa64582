package require

import (
	"iter"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Operator is the relation between a label and the values of a requirement.
type Operator = corev1.NodeSelectorOperator

// The operators that a requirement may be made of. Gte and Lte are Karpenter's
// own: core/v1 has only the strict forms.
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

// A Requirement says what one label may be. The zero Requirement has no key and
// admits nothing.
//
// The form is canonical: two requirements that admit the same things have equal
// fields. Bounds live only on complements, excluded values lie within the bounds,
// and a bound that nothing can meet becomes the empty concrete set.
type Requirement struct {
	key    string
	values []string // sorted, no duplicates: admitted, or excluded if complement; never written to

	complement bool // values are the excluded ones
	absent     bool // a node without the label is admitted too
	bounds     bounds
	minValues  int
}

// New returns the requirement that "key op values" states. Values may come in
// any order and repeat.
//
// A numeric operator without exactly one base-ten integer, or whose bound lies
// beyond int64, and an operator that is none of the eight, admit nothing:
// validation reports them, and until then they must not let a pod through.
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

// WithMinValues returns r asking that at least n different values stay open
// among the instance types of a plan. Zero and less ask for nothing.
func (r Requirement) WithMinValues(n int) Requirement {
	r.minValues = max(n, 0)
	return r
}

// MinValues is how many different values must stay open; 0 if it does not matter.
func (r Requirement) MinValues() int { return r.minValues }

// Key is the label the requirement is about.
func (r Requirement) Key() string { return r.key }

// Operator is the single operator nearest to r: In, NotIn, Exists or
// DoesNotExist, or for a bounded requirement Gte (Lte when there is only an
// upper bound). In with no Values is a contradiction. Spec gives all that r says.
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

// Values returns the values listed by r, sorted: the admitted ones, or the
// excluded ones if r admits an open set. The slice is the caller's to keep.
func (r Requirement) Values() []string { return slices.Clone(r.values) }

// Each ranges over Values without copying them.
func (r Requirement) Each() iter.Seq[string] { return slices.Values(r.values) }

// Bounds returns the inclusive integer bounds of r.
func (r Requirement) Bounds() (gte, lte int64, hasGte, hasLte bool) {
	return r.bounds.gte, r.bounds.lte, r.bounds.hasGte, r.bounds.hasLte
}

// Equal reports whether r and o have the same key, admit the same things and ask
// for the same number of values.
func (r Requirement) Equal(o Requirement) bool {
	return r.key == o.key && r.complement == o.complement && r.absent == o.absent &&
		r.minValues == o.minValues && r.bounds == o.bounds && slices.Equal(r.values, o.values)
}

// sorted returns the distinct values in order, in memory of its own.
func sorted(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}

// parseBound reads the single operand of a numeric operator into an inclusive
// bound.
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
		return bounds{lte: n - 1, hasLte: true}, n-1 < n
	default:
		return bounds{lte: n, hasLte: true}, true
	}
}
