package kwok

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A PodDisruptionBudget that allows no eviction delays the deletion of a node until it allows evictions.
func TestPodDisruptionBudgetHoldsNode(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "pdb")
	c.pool()
	c.deploy("web", 1, "1")
	c.awaitRunning("web", 1)
	n := c.awaitNodes(1)[0]
	none := intstr.FromInt32(0)
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	c.put(pdb)
	c.awaitInForce(pdb)
	if err := c.Delete(t.Context(), &n); err != nil {
		t.Fatal(err)
	}
	c.poll(func() string {
		claims := c.claims()
		for i := range claims {
			if d := meta.FindStatusCondition(claims[i].Status.Conditions, apiv1.ConditionTypeDrained); d != nil && d.Status == "Unknown" {
				return ""
			}
		}
		return "no node drains"
	})
	if err := c.Get(t.Context(), clientKey(&n), &n); err != nil || n.Spec.Taints == nil {
		t.Errorf("node is %v, %v while the budget holds it", n.Spec.Taints, err)
	}
	if err := c.Delete(t.Context(), pdb); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(n.Name)
	c.awaitRunning("web", 1)
}

// awaitInForce waits until the PodDisruptionBudget's status counts its pods.
func (c *corner) awaitInForce(pdb *policyv1.PodDisruptionBudget) {
	c.t.Helper()
	c.poll(func() string {
		if err := c.Get(c.t.Context(), clientKey(pdb), pdb); err != nil {
			c.t.Fatal(err)
		}
		return missing(pdb.Status.ObservedGeneration > 0, "the budget is not in force yet")
	})
}
