package provision

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
	"github.com/karpenter-go/karpenter/internal/limits"
)

// A plan that is executed at the same time uses a part of the limit. Pods whose nodes exceed the rest of the limit remain
// pending.
func TestLimitsOfPlansTogether(t *testing.T) {
	w := newWorld(t)
	known, _ := w.Cluster.Snapshot().Pool("default")
	pool := known.Object.DeepCopy()
	pool.Spec.Limits = apiv1.Limits{model.Nodes: resource.MustParse("3")}
	w.Cluster.Set(pool)
	w.Limits = &limits.Ledger{}
	s := w.Cluster.Snapshot()
	limited, _ := s.Pool("default")
	two := []model.PlannedNode{{Pool: limited}, {Pool: limited}}
	_, done := w.Limits.Take("disruption", verify.Rules{}, s, two)
	w.pend("web", 2, 7)
	w.clock.Step(w.BatchMax)
	w.reconcile()
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims while two more are being created, want 1", n)
	}
	if n := len(w.Cluster.Snapshot().Targets); n != 1 {
		t.Errorf("%d pods are promised a node, want 1", n)
	}
	done()
	w.clock.Step(retry)
	w.reconcile()
	if n := len(w.claims()); n != 2 {
		t.Errorf("%d claims after the others were not created, want 2", n)
	}
}
