package budget

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
