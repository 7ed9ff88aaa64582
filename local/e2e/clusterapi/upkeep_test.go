package clusterapi

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/e2e/machines"
)

// A static NodePool has as many Machines as its replicas, without pods.
func TestStaticPool(t *testing.T) {
	replicas := int64(2)
	s := newScene(t, "static", func(p *apiv1.NodePool) { p.Spec.Replicas = &replicas })
	s.AwaitSettled(2)
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}
	if err := place.Patch(t.Context(), pool, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`))); err != nil {
		t.Fatal(err)
	}
	s.AwaitSettled(1)
}

// A Machine whose NodeClaim has reached expireAfter is replaced.
func TestExpiry(t *testing.T) {
	s := newScene(t, "expiry", func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.ExpireAfter = apiv1.NillableDuration{Duration: new(time.Minute)}
	})
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSettled(1)[0]
	s.AwaitDeleted(&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}})
	s.AwaitRunning(1)
}

// A drifted Machine stays while the budget allows no disruption, and is replaced afterwards.
func TestBudgetHoldsDrift(t *testing.T) {
	s := newScene(t, "budget", func(p *apiv1.NodePool) { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "0"}} })
	s.Deploy(1, "3")
	s.AwaitRunning(1)
	claim := s.AwaitSettled(1)[0]
	size := claim.Labels[corev1.LabelInstanceTypeStable]
	s.Change(machines.DeploymentKind, size, `{"spec":{"template":{"spec":{"version":"v1.36.4"}}}}`)
	s.Poll(func(ctx context.Context) string {
		var now apiv1.NodeClaim
		if err := place.Get(ctx, client.ObjectKey{Name: claim.Name}, &now); err != nil {
			return err.Error()
		}
		return machines.Missing(condition.IsTrue(&now, apiv1.ConditionTypeDrifted), "claim has the conditions %+v", now.Status.Conditions)
	})
	if now := s.AwaitSettled(1)[0]; now.Name != claim.Name {
		t.Errorf("claim %s was replaced by %s, although the budget is 0", claim.Name, now.Name)
	}
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"disruption":{"budgets":[{"nodes":"1"}]}}}`))
	if err := place.Patch(t.Context(), pool, patch); err != nil {
		t.Fatal(err)
	}
	s.AwaitDeleted(&apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}})
	s.AwaitRunning(1)
	s.AwaitSettled(1)
}

// A Machine that fails a health check, as a MachineHealthCheck reports it, is drained and replaced.
func TestFailedHealthCheck(t *testing.T) {
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
