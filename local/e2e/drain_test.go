package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

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

// The terminationGracePeriod of a claim ends a drain that a PodDisruptionBudget would block for ever. The controller has the right
// to delete the pods.
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
	s.awaitEvent(about{kind: "NodeClaim", prefix: claim.Name, reason: "TerminationGracePeriodExpiring"})
}
