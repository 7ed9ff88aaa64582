package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// guard creates a PodDisruptionBudget that allows no eviction of the pods of a Deployment.
func (s *scene) guard(deployment string, pods int) *policyv1.PodDisruptionBudget {
	s.t.Helper()
	all := intstr.FromInt(pods)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: deployment, Namespace: s.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &all,
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": deployment}},
		},
	}
	s.put(budget)
	var budgets policyv1.PodDisruptionBudgetList
	s.await(&budgets, func() string {
		if len(budgets.Items) == 1 && budgets.Items[0].Status.CurrentHealthy == int32(pods) {
			return ""
		}
		return "the budget does not count the pods of " + deployment
	}, client.InNamespace(s.name))
	return budget
}

// replaced waits until all pods run, none of them on the node of the old claim, and until that claim, its node and its instance
// are gone.
func (s *scene) replaced(old *apiv1.NodeClaim, deployment string, pods int) {
	s.t.Helper()
	var nodes corev1.NodeList
	s.await(&nodes, func() string {
		for i := range nodes.Items {
			if nodes.Items[i].Name == old.Status.NodeName {
				return "node " + nodes.Items[i].Name + " is still there"
			}
		}
		return ""
	}, s.mine())
	for _, p := range s.awaitRunning(deployment, pods) {
		if p.Spec.NodeName == old.Status.NodeName {
			s.t.Errorf("pod %s still runs on %s", p.Name, old.Status.NodeName)
		}
	}
	s.poll(func() string {
		for _, i := range s.instances() {
			if "aws:///"+i.Zone+"/"+i.ID == old.Status.ProviderID && i.State != "terminated" {
				return fmt.Sprintf("instance %s is %s", i.ID, i.State)
			}
		}
		for _, c := range s.claims() {
			if c.Name == old.Name {
				return "claim " + c.Name + " is still there"
			}
		}
		return ""
	})
}

// A deleted claim is drained, but the PodDisruptionBudget is respected. When the budget allows evictions, the pods move to
// another node.
func TestDrainRespectsBudget(t *testing.T) {
	t.Parallel()
	s := newScene(t, "drain")
	s.class()
	s.pool("drain", needs{typesOf("m6i.large")})
	s.deploy("web", 1, "1")
	before := s.awaitRunning("web", 1)[0]
	budget := s.guard("web", 1)
	claim := s.settled(1)[0]
	if err := s.Delete(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	s.awaitEvent(about{kind: "Node", prefix: claim.Status.NodeName, reason: "FailedDraining"})
	var nodes corev1.NodeList
	s.await(&nodes, func() string {
		for _, n := range nodes.Items {
			for _, taint := range n.Spec.Taints {
				if n.Name == claim.Status.NodeName && taint.Key == apiv1.DisruptedTaintKey {
					return ""
				}
			}
		}
		return "the node that is drained has no taint against new pods"
	}, s.mine())
	if now := s.awaitRunning("web", 1)[0]; now.UID != before.UID || now.Spec.NodeName != claim.Status.NodeName {
		t.Fatalf("pod %s was moved from %s to %s against its budget", before.Name, before.Spec.NodeName, now.Spec.NodeName)
	}
	if err := s.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	s.replaced(&claim, "web", 1)
}

// The terminationGracePeriod of a claim ends a drain that a PodDisruptionBudget would block for ever.
func TestGracePeriodEndsDrain(t *testing.T) {
	t.Parallel()
	s := newScene(t, "grace")
	s.class()
	s.pool("grace", needs{typesOf("m6a.large")}, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: 5 * time.Second}
	})
	s.deploy("web", 1, "1")
	s.awaitRunning("web", 1)
	s.guard("web", 1)
	claim := s.settled(1)[0]
	if err := s.Delete(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	s.replaced(&claim, "web", 1)
	if n := s.events(about{kind: "Node", prefix: claim.Status.NodeName, reason: "TerminationGracePeriodExpiring"}) +
		s.events(about{kind: "NodeClaim", prefix: claim.Name, reason: "TerminationGracePeriodExpiring"}); n == 0 {
		t.Error("no event tells that the grace period expires")
	}
}
