package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// A spot instance that EC2 reclaims is replaced while it still runs. New pods are kept off its node, another instance is
// launched, the pods move, and the node is gone within the two minutes.
func TestSpotInterruption(t *testing.T) {
	s := newScene(t, "interrupted")
	s.class()
	s.pool("spot", needs{family("m6i")}, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.Requirements = needs{family("m6i"), in(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeSpot)}
	})
	s.deploy("web", 2, "500m")
	s.awaitRunning("web", 2)
	old := s.settled(1)[0]
	var doomed control.Instance
	for _, i := range s.instances() {
		if "aws:///"+i.Zone+"/"+i.ID == old.Status.ProviderID {
			doomed = i
		}
	}
	out, err := shared.Run(t, "aws", "interrupt", doomed.ID)
	if err != nil {
		t.Fatalf("interrupt %s: %v\n%s", doomed.ID, err, out)
	}
	s.awaitEvent(about{kind: "NodeClaim", prefix: old.Name, reason: "SpotInterrupted"})
	var claims apiv1.NodeClaimList
	s.await(&claims, func() string {
		for i := range claims.Items {
			if c := &claims.Items[i]; c.Name != old.Name && c.Status.ProviderID != "" {
				return ""
			}
		}
		return "nothing is launched in place of " + old.Name
	}, s.mine())
	for _, i := range s.instances() { // EC2 terminates the instance only two minutes after the notice
		if i.ID == doomed.ID && i.State != "running" && i.Reason == "Server.SpotInstanceTermination" {
			t.Error("the replacement came only after EC2 had taken the instance")
		}
	}
	s.replaced(&old, "web", 2)
	var nodes corev1.NodeList
	s.list(&nodes, s.mine())
	if len(nodes.Items) != 1 {
		t.Errorf("%d nodes, want the replacement alone", len(nodes.Items))
	}
}
