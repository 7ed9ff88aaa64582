package require

import (
	"strconv"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

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
