package upstream

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-go/karpenter/engine/model"
)

func pod(name, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}}}
	p.Spec.NodeName = node
	return p
}

// Only changes are sent, and a PodDisruptionBudget again when the number of allowed disruptions has changed.
func TestChanges(t *testing.T) {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	share := intstr.FromString("50%")
	budget.Spec = policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &share, Selector: &metav1.LabelSelector{}}
	s := model.Compile(model.Delta{
		Pods: []*corev1.Pod{pod("a", "n1"), pod("b", "n1"), pod("c", "n2"), pod("d", "")}, PDBs: []*policyv1.PodDisruptionBudget{budget},
	})
	st := newState()
	first := st.changes(s)
	if first.Begin == nil || len(first.Pods) != 4 || len(first.Budgets) != 1 {
		t.Fatalf("%+v", first)
	}
	// Four pods, of which two may be unavailable, and one has no node.
	if got := first.Budgets[0].Status; got.DisruptionsAllowed != 1 || got.CurrentHealthy != 3 || got.DesiredHealthy != 2 || got.ExpectedPods != 4 {
		t.Errorf("%+v", got)
	}
	if again := st.changes(s); again.Begin != nil || len(again.Pods)+len(again.GonePods)+len(again.Budgets) > 0 {
		t.Errorf("%+v, want nothing", again)
	}
	next := st.changes(s.Apply(model.Delta{Pods: []*corev1.Pod{pod("d", "n2")}, Gone: []model.Ref{{Kind: model.KindPod, Key: "shop/a"}}}))
	if len(next.Pods) != 1 || next.Pods[0].Name != "d" || len(next.GonePods) != 1 || next.GonePods[0] != "shop/a" {
		t.Errorf("%+v", next)
	}
	// Three pods with nodes, of which two may be unavailable: the share is rounded up.
	if len(next.Budgets) != 1 || next.Budgets[0].Status.DisruptionsAllowed != 2 {
		t.Errorf("%+v, want a budget that allows two disruptions", next.Budgets)
	}
}
