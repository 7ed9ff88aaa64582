package nodematch

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Requirement is one entry of the requirements of a pool or claim. All entries of a key must be met.
type Requirement = apiv1.NodeSelectorRequirementWithMinValues

// A Value is a possible value of a node label: a string, or missing.
type Value struct {
	Text    string
	Missing bool
}

// String returns the value for messages.
func (v Value) String() string {
	if v.Missing {
		return "missing"
	}
	return strconv.Quote(v.Text)
}

// GroupByKey groups requirements by key. Deprecated keys are replaced by stable ones.
func GroupByKey(spec []Requirement, aliases map[string]string) map[string][]Requirement {
	out := make(map[string][]Requirement, len(spec))
	for _, r := range spec {
		key := cmp.Or(aliases[r.Key], r.Key)
		out[key] = append(out[key], r)
	}
	return out
}

// Admitted reports whether the value meets all requirements.
func Admitted(rs []Requirement, v Value) bool {
	return !slices.ContainsFunc(rs, func(r Requirement) bool { return !admits(r, v) })
}

// Keep returns the values that meet all requirements.
func Keep(rs []Requirement, all []Value) []Value {
	drop := func(v Value) bool { return !Admitted(rs, v) }
	if len(rs) == 0 || !slices.ContainsFunc(all, drop) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), drop)
}

// admits reports whether the value meets the requirement.
func admits(r Requirement, v Value) bool {
	listed := !v.Missing && slices.Contains(r.Values, v.Text)
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return listed
	case corev1.NodeSelectorOpNotIn:
		return !listed
	case corev1.NodeSelectorOpExists:
		return !v.Missing
	case corev1.NodeSelectorOpDoesNotExist:
		return v.Missing
	}
	if v.Missing || len(r.Values) != 1 {
		return false
	}
	have, err := strconv.ParseInt(v.Text, 10, 64)
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

// Open returns possible values of a label that only requirements mention. They are the values of the first In. Without
// an In, it is one value that meets the requirements, if sample finds one. The missing value is always included. Some
// of them may not meet the requirements.
func Open(rs []Requirement) []Value {
	var out []Value
	at := slices.IndexFunc(rs, func(r Requirement) bool { return r.Operator == corev1.NodeSelectorOpIn })
	if at >= 0 {
		for _, text := range rs[at].Values {
			out = append(out, Value{Text: text})
		}
	} else if v, ok := sample(rs); ok {
		out = append(out, v)
	}
	return append(out, Value{Missing: true})
}

// sample returns a value that meets requirements without an In: the first admitted integer, counted from zero or from
// an operand of a requirement. It is not negative, because a label value cannot start with "-".
func sample(rs []Requirement) (Value, bool) {
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
			v := Value{Text: strconv.FormatInt(start+n, 10)}
			if start+n >= 0 && Admitted(rs, v) {
				return v, true
			}
		}
	}
	return Value{}, false
}
