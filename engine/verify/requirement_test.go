package verify

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/engine/require"
)

var (
	operators = []require.Operator{require.In, require.NotIn, require.Exists, require.DoesNotExist,
		require.Gt, require.Lt, require.Gte, require.Lte}
	values = []string{"a", "b", "0", "3", "05", "5", "6", "large"}
)

func drawRequirements(t *rapid.T, operators []require.Operator) []requirement {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) requirement {
		r := requirement{Key: "k", Operator: rapid.SampledFrom(operators).Draw(t, "op")}
		switch r.Operator {
		case require.In, require.NotIn:
			r.Values = rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(t, "values")
		case require.Gt, require.Lt, require.Gte, require.Lte:
			r.Values = []string{rapid.SampledFrom([]string{"0", "3", "5", "6"}).Draw(t, "bound")}
		}
		return r
	}), 1, 3).Draw(t, "requirements")
}

func drawCandidate(t *rapid.T) candidate {
	if rapid.Bool().Draw(t, "missing") {
		return candidate{missing: true}
	}
	return candidate{value: rapid.SampledFrom(values).Draw(t, "value")}
}

// Operators mean here what they mean to the scheduler.
func TestAdmitsAgreesWithTheScheduler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs, cand := drawRequirements(t, operators[:6]), drawCandidate(t)
		var term corev1.NodeSelectorTerm
		for _, r := range rs {
			term.MatchExpressions = append(term.MatchExpressions,
				corev1.NodeSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
		}
		selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{term},
		})
		if err != nil {
			t.Fatal(err)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}
		if !cand.missing {
			node.Labels["k"] = cand.value
		}
		if got, want := admitted(rs, cand), selector.Match(node); got != want {
			t.Fatalf("%v admit %v: %v, the scheduler says %v", rs, cand, got, want)
		}
	})
}

// The algebra that plans are made with and the operators as they are believed here are
// two accounts of the same thing.
func TestAdmitsAgreesWithTheAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs, cand := drawRequirements(t, operators), drawCandidate(t)
		r, _ := require.FromSpec(rs).Get("k")
		want := r.Has(cand.value)
		if cand.missing {
			want = r.MayBeAbsent()
		}
		if got := admitted(rs, cand); got != want {
			t.Fatalf("%v admit %v: %v, the algebra says %v", rs, cand, got, want)
		}
		if found := keep(rs, open(rs)); (len(found) > 0) != (!r.Empty() || r.MayBeAbsent()) {
			// Only a gap between two bounds that holds no plain integer may be missed.
			if _, _, low, high := r.Bounds(); !low || !high {
				t.Fatalf("%v leave %v, the algebra says %v", rs, found, r)
			}
		}
	})
}

func TestAdmitsRefusesWhatItCannotRead(t *testing.T) {
	for _, r := range []requirement{
		{Key: "k", Operator: "Near", Values: []string{"5"}},
		{Key: "k", Operator: require.Gt},
		{Key: "k", Operator: require.Gt, Values: []string{"five"}},
		{Key: "k", Operator: require.Gt, Values: []string{"3", "4"}},
	} {
		if admits(r, candidate{value: "5"}) {
			t.Errorf("%v admits 5", r)
		}
	}
}
