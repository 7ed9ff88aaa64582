package verify

import (
	"slices"
	"strconv"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	corev1 "k8s.io/api/core/v1"
)

// A requirement is one entry of a spec. All entries of a key must hold.
type requirement = apiv1.NodeSelectorRequirementWithMinValues

// A candidate is what a label of a node may turn out to be: a value, or missing.
type candidate struct {
	value   string
	missing bool
	given   bool // it stands on the claim
}

func (c candidate) String() string {
	if c.missing {
		return "missing"
	}
	return strconv.Quote(c.value)
}

// same reports whether c and o leave the label alike.
func (c candidate) same(o candidate) bool { return c.missing == o.missing && c.value == o.value }

// byKey groups a spec by the keys' present names.
func byKey(spec []requirement, aliases map[string]string) map[string][]requirement {
	out := make(map[string][]requirement, len(spec))
	for _, r := range spec {
		key := r.Key
		if stable, ok := aliases[key]; ok {
			key = stable
		}
		out[key] = append(out[key], r)
	}
	return out
}

// admitted reports whether a node with this for the label may be.
func admitted(rs []requirement, c candidate) bool {
	for _, r := range rs {
		if !admits(r, c) {
			return false
		}
	}
	return true
}

// keep returns the candidates that may be.
func keep(rs []requirement, all []candidate) []candidate {
	drop := func(c candidate) bool { return !admitted(rs, c) }
	if !slices.ContainsFunc(all, drop) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), drop)
}

// admits is what each operator means, and all that this package believes about them.
func admits(r requirement, c candidate) bool {
	listed := !c.missing && slices.Contains(r.Values, c.value)
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return listed
	case corev1.NodeSelectorOpNotIn:
		return !listed
	case corev1.NodeSelectorOpExists:
		return !c.missing
	case corev1.NodeSelectorOpDoesNotExist:
		return c.missing
	}
	if c.missing || len(r.Values) != 1 {
		return false
	}
	have, err := strconv.ParseInt(c.value, 10, 64)
	if err != nil {
		return false
	}
	want, err := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil {
		return false
	}
	switch r.Operator {
	case corev1.NodeSelectorOpGt:
		return have > want
	case apiv1.NodeSelectorOpGte:
		return have >= want
	case corev1.NodeSelectorOpLt:
		return have < want
	case apiv1.NodeSelectorOpLte:
		return have <= want
	}
	return false
}

// open returns what a label may be of which only requirements speak: each value of the
// first list, or without a list one value that the requirements admit; and missing.
// Not all of them need be admitted.
func open(rs []requirement) []candidate {
	some := []candidate{}
	at := slices.IndexFunc(rs, func(r requirement) bool { return r.Operator == corev1.NodeSelectorOpIn })
	if at >= 0 {
		for _, v := range rs[at].Values {
			some = append(some, candidate{value: v})
		}
	} else if c, ok := sample(rs); ok {
		some = append(some, c)
	}
	return append(some, candidate{missing: true})
}

// sample returns a value that requirements without a list admit: the first integer that
// is not excluded, from zero up or from just within one of the bounds.
func sample(rs []requirement) (candidate, bool) {
	starts, excluded := []int64{0}, 0
	for _, r := range rs {
		if r.Operator == corev1.NodeSelectorOpNotIn {
			excluded += len(r.Values)
		} else if len(r.Values) == 1 {
			if n, err := strconv.ParseInt(r.Values[0], 10, 64); err == nil {
				starts = append(starts, n-1, n, n+1)
			}
		}
	}
	for _, start := range starts {
		for n := range int64(excluded) + 1 {
			c := candidate{value: strconv.FormatInt(start+n, 10)}
			if admitted(rs, c) {
				return c, true
			}
		}
	}
	return candidate{}, false
}
