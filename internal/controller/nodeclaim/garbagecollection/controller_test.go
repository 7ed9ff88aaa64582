package garbagecollection

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
	"github.com/karpenter-go/karpenter/internal/singleton"
)

// forgetful is a cloud whose list lacks existing instances, as may happen in a real cloud.
type forgetful struct{ *fakecloud.Cloud }

func (forgetful) List(context.Context) ([]*cloud.Instance, error) { return nil, nil }

func TestListIsNotBelieved(t *testing.T) {
	w := world.New(t)
	w.Add(world.Joined(w.Cloud, "a"))
	w.Clock.Step(time.Hour)
	collect(t, w, forgetful{w.Cloud})
	if !w.GetClaim("a").DeletionTimestamp.IsZero() {
		t.Error("a claim whose instance is there was deleted because a list did not show it")
	}
	w.Cloud.Lose(w.GetClaim("a"))
	collect(t, w, forgetful{w.Cloud})
	if n := w.Count("karpenter_nodeclaims_disrupted_total", "capacity_type=spot", "consolidation_policy=",
		"nodepool=default", "reason=garbage_collected", "termination_mode=graceful"); n != 1 {
		t.Errorf("disrupted_total is %v, want 1", n)
	}
}

func TestGarbageCollection(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(w *world.World, claim *apiv1.NodeClaim)
		node   corev1.ConditionStatus // empty: no node
		at     time.Duration
		gone   bool
	}{
		{"instance and node are gone", lose, "", time.Hour, true},
		{"instance is gone, node is not ready", lose, corev1.ConditionFalse, time.Hour, true},
		{"instance is gone, node is ready", lose, corev1.ConditionTrue, time.Hour, false},
		{"instance is there", nil, corev1.ConditionFalse, time.Hour, false},
		{"launched just now", lose, "", time.Minute, false},
		{"gone before it registered", func(w *world.World, claim *apiv1.NodeClaim) {
			lose(w, claim)
			condition.SetUnknown(claim, apiv1.ConditionTypeRegistered, "NodeNotFound", "", world.Start)
		}, "", 3 * time.Minute, true},
		{"never launched", func(w *world.World, claim *apiv1.NodeClaim) {
			lose(w, claim)
			claim.Status = apiv1.NodeClaimStatus{}
		}, "", time.Hour, false},
		{"not ours", func(w *world.World, claim *apiv1.NodeClaim) {
			lose(w, claim)
			claim.Spec.NodeClassRef.Kind = "Other"
		}, "", time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := world.New(t)
			claim := world.Joined(w.Cloud, "a")
			if tt.node != "" {
				node := world.Node("node-a", claim.Status.ProviderID)
				node.Status.Conditions[0].Status = tt.node
				w.Add(node)
			}
			if tt.change != nil {
				tt.change(w, claim)
			}
			w.Add(claim)
			w.Clock.Step(tt.at)
			collect(t, w, w.Cloud)
			if got := !w.GetClaim("a").DeletionTimestamp.IsZero(); got != tt.gone {
				t.Errorf("deleted is %t, want %t", got, tt.gone)
			}
		})
	}
}

func lose(w *world.World, claim *apiv1.NodeClaim) { w.Cloud.Lose(claim) }

func collect(t *testing.T, w *world.World, p cloud.Provider) {
	t.Helper()
	c := &Controller{Client: w.Client, Clock: w.Clock, Metrics: w.Metrics, Cloud: p}
	result, err := c.Reconcile(t.Context(), singleton.Request())
	if err != nil {
		t.Fatal(err)
	}
	if result.RequeueAfter != 2*time.Minute {
		t.Errorf("runs again after %s, want 2m", result.RequeueAfter)
	}
}
