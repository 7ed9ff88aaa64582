package require

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Set is the constraints on the labels of a node: at most one Requirement per key. Other keys are unconstrained. The
// zero Set constrains nothing.
type Set struct {
	reqs []Requirement // sorted by key, without duplicates; immutable
}

// NewSet returns the intersection of rs.
func NewSet(rs ...Requirement) Set {
	return fold(slices.Clone(rs))
}

// FromLabels returns the set of a node with exactly these values for these labels.
func FromLabels(labels map[string]string) Set {
	rs := make([]Requirement, 0, len(labels))
	for k, v := range labels {
		rs = append(rs, Requirement{key: k, values: []string{v}})
	}
	return fold(rs)
}

// FromSelector returns the set of the expressions of one node selector term.
func FromSelector(terms []corev1.NodeSelectorRequirement) Set {
	rs := make([]Requirement, 0, len(terms))
	for _, t := range terms {
		rs = append(rs, New(t.Key, t.Operator, t.Values...))
	}
	return fold(rs)
}

// fold sorts rs in place and intersects requirements of the same key.
func fold(rs []Requirement) Set {
	if len(rs) == 0 {
		return Set{}
	}
	slices.SortStableFunc(rs, func(a, b Requirement) int { return cmp.Compare(a.key, b.key) })
	n := 0
	for _, r := range rs[1:] {
		if r.key == rs[n].key {
			rs[n] = rs[n].Intersect(r)
			continue
		}
		n++
		rs[n] = r
	}
	return Set{reqs: slices.Clip(rs[:n+1])}
}

// And returns the intersection of s and o.
func (s Set) And(o Set) Set {
	switch {
	case len(s.reqs) == 0:
		return o
	case len(o.reqs) == 0:
		return s
	}
	out := make([]Requirement, 0, len(s.reqs)+len(o.reqs))
	a, b := s.reqs, o.reqs
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].key < b[0].key:
			out, a = append(out, a[0]), a[1:]
		case a[0].key > b[0].key:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0].Intersect(b[0])), a[1:], b[1:]
		}
	}
	return Set{reqs: slices.Clip(append(append(out, a...), b...))}
}

// With returns the intersection of s and rs.
func (s Set) With(rs ...Requirement) Set { return s.And(NewSet(rs...)) }

// Without returns s without the requirements of the keys.
func (s Set) Without(keys ...string) Set {
	rest := slices.DeleteFunc(slices.Clone(s.reqs), func(r Requirement) bool { return slices.Contains(keys, r.key) })
	return Set{reqs: slices.Clip(rest)}
}

// Get returns the requirement of the key. ok is false if the key is unconstrained.
func (s Set) Get(key string) (r Requirement, ok bool) {
	i, ok := slices.BinarySearchFunc(s.reqs, key, func(r Requirement, k string) int {
		return cmp.Compare(r.key, k)
	})
	if !ok {
		return Requirement{}, false
	}
	return s.reqs[i], true
}

// Has reports whether the key is constrained.
func (s Set) Has(key string) bool {
	_, ok := s.Get(key)
	return ok
}

// Keys returns the constrained keys, sorted.
func (s Set) Keys() []string {
	keys := make([]string, len(s.reqs))
	for i, r := range s.reqs {
		keys[i] = r.key
	}
	return keys
}

// All ranges over the requirements in key order.
func (s Set) All() iter.Seq[Requirement] { return slices.Values(s.reqs) }

// Len returns the number of constrained keys.
func (s Set) Len() int { return len(s.reqs) }

// Equal reports whether s and o have equal requirements.
func (s Set) Equal(o Set) bool { return slices.EqualFunc(s.reqs, o.reqs, Requirement.Equal) }

// Labels returns the labels that can have only one value and must be present.
func (s Set) Labels() map[string]string {
	labels := make(map[string]string)
	for _, r := range s.reqs {
		if !r.complement && len(r.values) == 1 {
			labels[r.key] = r.values[0]
		}
	}
	return labels
}

// String returns the requirements in key order, separated by semicolons.
func (s Set) String() string {
	words := make([]string, len(s.reqs))
	for i, r := range s.reqs {
		words[i] = r.String()
	}
	return strings.Join(words, "; ")
}

// Normalize returns the stable key of a deprecated label key, or key itself. aliases map deprecated keys to stable
// ones.
func Normalize(key string, aliases map[string]string) string {
	if stable, ok := aliases[key]; ok {
		return stable
	}
	return key
}

// Normalize returns s with deprecated keys replaced by stable ones. The requirements of a key and its aliases are
// intersected.
func (s Set) Normalize(aliases map[string]string) Set {
	aliased := func(r Requirement) bool { return Normalize(r.key, aliases) != r.key }
	if !slices.ContainsFunc(s.reqs, aliased) {
		return s
	}
	rs := slices.Clone(s.reqs)
	for i := range rs {
		rs[i].key = Normalize(rs[i].key, aliases)
	}
	return fold(rs)
}

// FromSpec returns the set of the requirements of a pool, claim or overlay.
func FromSpec(spec []apiv1.NodeSelectorRequirementWithMinValues) Set {
	rs := make([]Requirement, 0, len(spec))
	for _, s := range spec {
		r := New(s.Key, s.Operator, s.Values...)
		if s.MinValues != nil {
			r = r.WithMinValues(*s.MinValues)
		}
		rs = append(rs, r)
	}
	return fold(rs)
}

// Spec returns s as the requirements of a claim, in key order. FromSpec of the result equals s.
//
// Some requirements need several entries: two bounds are Gte and Lte, values excluded within bounds add NotIn, and
// "present and not in a" is Exists and NotIn. The first entry of a key has the MinValues. A contradiction is an In
// without values, which the API server rejects.
func (s Set) Spec() []apiv1.NodeSelectorRequirementWithMinValues {
	out := make([]apiv1.NodeSelectorRequirementWithMinValues, 0, len(s.reqs))
	for _, r := range s.reqs {
		first := len(out)
		out = r.appendSpec(out)
		if r.minValues > 0 {
			n := r.minValues
			out[first].MinValues = &n
		}
	}
	return out
}

// appendSpec appends the entries of r, without MinValues.
func (r Requirement) appendSpec(
	out []apiv1.NodeSelectorRequirementWithMinValues,
) []apiv1.NodeSelectorRequirementWithMinValues {
	add := func(op Operator, values ...string) {
		out = append(out, apiv1.NodeSelectorRequirementWithMinValues{
			Key: r.key, Operator: op, Values: values,
		})
	}
	switch {
	case !r.complement && r.absent:
		add(DoesNotExist)
		return out
	case !r.complement:
		add(In, r.Values()...)
		return out
	case r.bounds.none() && !r.absent:
		add(Exists)
	}
	if r.bounds.hasGte {
		add(Gte, strconv.FormatInt(r.bounds.gte, 10))
	}
	if r.bounds.hasLte {
		add(Lte, strconv.FormatInt(r.bounds.lte, 10))
	}
	if r.absent || len(r.values) > 0 {
		add(NotIn, r.Values()...)
	}
	return out
}
