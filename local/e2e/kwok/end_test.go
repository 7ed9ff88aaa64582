package kwok

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// As many empty nodes are deleted at the same time as the budget allows. With a budget of 0, none is deleted.
func TestEmptinessAndBudgets(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "emptiness")
	p := c.pool(func(p *apiv1.NodePool) {
		p.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("0s")
		p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "0"}}
	})
	d := c.deploy("web", 3, "1", apart)
	c.awaitRunning("web", 3)
	c.awaitNodes(3)
	c.scale(d, 0)
	c.awaitRunning("web", 0)
	c.holds(4*time.Second, func() string { return missing(len(c.nodes()) == 3, "%d nodes in spite of the budget", len(c.nodes())) })
	c.change(p, func() { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "1"}} })
	most := 0
	c.poll(func() string {
		nodes := c.nodes()
		most = max(most, c.out(nodes))
		return missing(len(nodes) == 0, "%d nodes are left", len(nodes))
	})
	if most > 1 {
		t.Errorf("%d nodes went at a time, the budget allows 1", most)
	}
}

// A node is drained before it is deleted. Pods that must not be disrupted delay that until the terminationGracePeriod ends.
func TestTerminationGracePeriod(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "grace")
	c.pool(func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: 8 * time.Second}
	})
	c.deploy("held", 1, "1", func(t *corev1.PodTemplateSpec) {
		t.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
	})
	pod := c.awaitRunning("held", 1)[0]
	c.awaitNodes(1)
	claim := c.claims()[0]
	begun := time.Now() // the response of the server may take a while
	if err := c.Delete(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	c.poll(func() string {
		var still corev1.Pod
		err := c.Get(t.Context(), clientKey(&pod), &still)
		return missing(err != nil, "the pod is still there")
	})
	if held := time.Since(begun); held < 5*time.Second {
		t.Errorf("the pod was disturbed after %v, before its node's grace period ended", held)
	}
	c.awaitGone(pod.Spec.NodeName)
	c.awaitRunning("held", 1)
}

// An expired node is replaced regardless of budgets, and its pods run again.
func TestExpiration(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "expiration")
	c.pool(func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.ExpireAfter = apiv1.MustParseNillableDuration("45s") // a pod has time to run
		p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "0"}}
	})
	c.deploy("web", 1, "1")
	first := c.awaitRunning("web", 1)[0].Spec.NodeName
	c.awaitGone(first)
	c.awaitRunning("web", 1)
}

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
