package clusterapi

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
)

// A static NodePool has as many Machines as its replicas, without pods.
func TestStaticPool(t *testing.T) {
	long(t)
	t.Parallel()
	replicas := int64(2)
	s := newScene(t, "static", func(p *apiv1.NodePool) { p.Spec.Replicas = &replicas })
	s.AwaitSettled(2)
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}
	if err := place.Patch(t.Context(), pool, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`))); err != nil {
		t.Fatal(err)
	}
	s.AwaitSettled(1)
}

// A Machine that fails a health check, as a MachineHealthCheck reports it, is drained and replaced.
func TestFailedHealthCheck(t *testing.T) {
	t.Parallel()
	s := newScene(t, "unhealthy")
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSettled(1)[0]
	machine := s.Objects(t.Context(), machines.MachineKind)[0]
	conditions, _, err := unstructured.NestedSlice(machine.Object, "status", "conditions")
	if err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": append(conditions, map[string]any{
		"type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode", "message": "Ready is Unknown for 5m",
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	})}})
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Status().Patch(t.Context(), &machine, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
	s.AwaitDeleted(&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}})
	s.AwaitRunning(1)
	s.AwaitSettled(1)
}
