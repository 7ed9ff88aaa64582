package budget

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-go/karpenter/engine/model"
)

// The fix for a PodDisruptionBudget that allows no disruption depends on what makes it allow none.
func TestFixOfPDB(t *testing.T) {
	value := func(s string) *intstr.IntOrString { v := intstr.Parse(s); return &v }
	const more, ready, replicas = "allow more in PodDisruptionBudget shop/db",
		"make the pods ready that PodDisruptionBudget shop/db selects", "" // the general fix is to run more replicas
	for _, tt := range []struct {
		name                             string
		maxUnavailable, minAvailable     *intstr.IntOrString
		currentHealthy, desired, allowed int32
		want                             string
	}{
		{"maxUnavailable: 0", value("0"), nil, 3, 3, 0, more},
		{"maxUnavailable: 0%", value("0%"), nil, 2, 3, 0, more},
		{"minAvailable: 100%", nil, value("100%"), 3, 3, 0, more},
		{"a pod of maxUnavailable: 1 is not ready", value("1"), nil, 1, 2, 0, ready},
		{"a pod of minAvailable: 2 is not ready", nil, value("2"), 1, 2, 0, ready},
		{"minAvailable is the number of replicas", nil, value("2"), 2, 2, 0, replicas},
		{"minAvailable is a large number", nil, value("5000"), 5000, 5000, 0, replicas},
		{"no bound, which means minAvailable: 1", nil, nil, 1, 1, 0, replicas},
		{"as many pods as allowed are being evicted", value("1"), nil, 3, 2, 1, replicas},
	} {
		t.Run(tt.name, func(t *testing.T) {
			labels := map[string]string{"app": "db"}
			s := model.Compile(model.Delta{PDBs: []*policyv1.PodDisruptionBudget{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
				Spec: policyv1.PodDisruptionBudgetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels}, MaxUnavailable: tt.maxUnavailable, MinAvailable: tt.minAvailable,
				},
				Status: policyv1.PodDisruptionBudgetStatus{
					ObservedGeneration: 1, ExpectedPods: 3, CurrentHealthy: tt.currentHealthy, DesiredHealthy: tt.desired,
					DisruptionsAllowed: tt.allowed,
				},
			}}})
			pod := &model.Pod{Key: "shop/db-0", Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", Labels: labels}}}
			b := PDBsOf(s)
			evictions, _ := b.Evictions([]*model.Pod{pod})
			b.CountBegun(evictions)
			if got := b.Allow(nil, evictions); got.OK() || got.Hint != tt.want {
				t.Errorf("refusal: %v, fix: %q, want the fix %q", got, got.Hint, tt.want)
			}
		})
	}
}

// A countingSelector counts how often it is compared with the labels of a pod.
type countingSelector struct {
	labels.Selector
	compared *int
}

func (s countingSelector) Matches(l labels.Labels) bool {
	*s.compared++
	return s.Selector.Matches(l)
}

// Each PodDisruptionBudget is compared only with the labels that it may select, and all of those are found.
func TestManyPDBs(t *testing.T) {
	const n = 1000
	selectors := map[string]*metav1.LabelSelector{"all": {}}
	expression := func(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	for i := range n {
		selectors[fmt.Sprintf("label-%d", i)] = &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(i), "tier": "front"}}
		selectors[fmt.Sprintf("in-%d", i)] = expression("app", metav1.LabelSelectorOpIn, fmt.Sprint(i), fmt.Sprint(i+1))
		selectors[fmt.Sprintf("exists-%d", i)] = expression(fmt.Sprintf("k%d", i), metav1.LabelSelectorOpExists)
	}
	selectors["not-in"] = expression("app", metav1.LabelSelectorOpNotIn, "7")
	selectors["without"] = expression("k3", metav1.LabelSelectorOpDoesNotExist)
	var pdbs []*policyv1.PodDisruptionBudget
	for name, selector := range selectors {
		pdbs = append(pdbs, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector},
			Status:     policyv1.PodDisruptionBudgetStatus{ExpectedPods: 1},
		})
	}
	b := PDBsOf(model.Compile(model.Delta{PDBs: pdbs}))
	compared := 0
	for i := range b.list {
		b.list[i].selector = countingSelector{b.list[i].selector, &compared}
	}
	for i := range n {
		set := map[string]string{"app": fmt.Sprint(i), "tier": "front", fmt.Sprintf("k%d", i): ""}
		got := b.selecting(&model.Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: set}}})
		var want []int
		for j, x := range b.list {
			if x.selector.(countingSelector).Selector.Matches(labels.Set(set)) {
				want = append(want, j)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("pod %d: selected by %v, want %v", i, got, want)
		}
	}
	if compared > 10*n {
		t.Errorf("%d comparisons of %d pods with %d PodDisruptionBudgets", compared, n, len(pdbs))
	}
}
