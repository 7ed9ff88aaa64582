package lookup_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

// An event of a node triggers the claims with its provider ID that belong to the provider.
func TestFromNode(t *testing.T) {
	w := world.New(t)
	ours, foreign := world.Joined(w.Cloud, "ours"), world.Joined(w.Cloud, "foreign")
	foreign.Spec.NodeClassRef.Kind = "Other"
	w.Add(ours, foreign, world.Claim("launching"))

	woken := func(node *corev1.Node) (names []string) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
		defer queue.ShutDown()
		lookup.FromNode(w.Client, w.Cloud.Facts()).Create(t.Context(), event.CreateEvent{Object: node}, queue)
		for queue.Len() > 0 {
			r, _ := queue.Get()
			names = append(names, r.Name)
		}
		return names
	}
	for _, tt := range []struct {
		node string
		id   string
		want []string
	}{
		{"ours", ours.Status.ProviderID, []string{"ours"}},
		{"of a claim of another provider", foreign.Status.ProviderID, nil},
		{"unknown", "fake://zone-a/i-99", nil},
		{"without provider ID, as it boots", "", nil},
	} {
		if diff := cmp.Diff(tt.want, woken(world.Node("n", tt.id))); diff != "" {
			t.Errorf("node %s wakes (-want +got):\n%s", tt.node, diff)
		}
	}
}

func TestNodesOf(t *testing.T) {
	w := world.New(t)
	claim := world.Joined(w.Cloud, "a")
	w.Add(world.Node("n2", claim.Status.ProviderID), world.Node("n1", claim.Status.ProviderID), world.Node("booting", ""))
	nodes, err := lookup.NodesOf(t.Context(), w.Client, claim)
	if err != nil || len(nodes) != 2 || nodes[0].Name != "n1" || nodes[1].Name != "n2" {
		t.Errorf("nodes are %v (%v), want n1 and n2 in this order", nodes, err)
	}
	// A claim that is not launched has no provider ID. Nodes without a provider ID are not its nodes.
	if nodes, err := lookup.NodesOf(t.Context(), w.Client, world.Claim("b")); err != nil || nodes != nil {
		t.Errorf("nodes of a claim that is not launched are %v (%v)", nodes, err)
	}
}
