package nodematch

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

func drawRequirements(t *rapid.T, operators []require.Operator) []Requirement {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Requirement {
		r := Requirement{Key: "k", Operator: rapid.SampledFrom(operators).Draw(t, "op")}
		switch r.Operator {
		case require.In, require.NotIn:
			r.Values = rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(t, "values")
		case require.Gt, require.Lt, require.Gte, require.Lte:
			r.Values = []string{rapid.SampledFrom([]string{"0", "3", "5", "6"}).Draw(t, "bound")}
		}
		return r
	}), 1, 3).Draw(t, "requirements")
}

func drawValue(t *rapid.T) Value {
	if rapid.Bool().Draw(t, "missing") {
		return Value{Missing: true}
	}
	return Value{Text: rapid.SampledFrom(values).Draw(t, "value")}
}

// Admitted agrees with the node affinity of kube-scheduler.
func TestAdmitsAgreesWithTheScheduler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs, v := drawRequirements(t, operators[:6]), drawValue(t)
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
		if !v.Missing {
			node.Labels["k"] = v.Text
		}
		if got, want := Admitted(rs, v), selector.Match(node); got != want {
			t.Fatalf("%v admit %v: %v, the scheduler says %v", rs, v, got, want)
		}
	})
}

// Admitted agrees with engine/require, with which plans are made. The two share no code.
func TestAdmitsAgreesWithTheAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rs, v := drawRequirements(t, operators), drawValue(t)
		r, _ := require.FromSpec(rs).Get("k")
		want := r.Has(v.Text)
		if v.Missing {
			want = r.MayBeAbsent()
		}
		if got := Admitted(rs, v); got != want {
			t.Fatalf("%v admit %v: %v, the algebra says %v", rs, v, got, want)
		}
		// Both look for plain integers only: "NotIn 0, Lte 0" admits "00", and neither finds it.
		_, want = r.Any()
		want = want || r.MayBeAbsent()
		if found := Keep(rs, Open(rs)); (len(found) > 0) != want {
			t.Fatalf("%v leave %v, the algebra says %v", rs, found, r)
		}
	})
}

func TestAdmitsRefusesWhatItCannotRead(t *testing.T) {
	for _, r := range []Requirement{
		{Key: "k", Operator: "Near", Values: []string{"5"}},
		{Key: "k", Operator: require.Gt},
		{Key: "k", Operator: require.Gt, Values: []string{"five"}},
		{Key: "k", Operator: require.Gt, Values: []string{"3", "4"}},
	} {
		if admits(r, Value{Text: "5"}) {
			t.Errorf("%v admits 5", r)
		}
	}
}
