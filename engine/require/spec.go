package require

import (
	"strconv"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// FromSpec returns the set that the requirements of a pool, claim or overlay
// state together.
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

// Spec writes s as the requirements of a claim, by key. FromSpec reads the same
// set back.
//
// What one operator cannot say takes several entries: two bounds are a Gte and a
// Lte, values excluded within bounds add a NotIn, and "present and not in a" is an
// Exists with a NotIn. MinValues stands on the first of them. A contradiction is
// an In without values, which the API server rejects, as it should.
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

// appendSpec appends the entries that together say r, without MinValues.
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
