package disruption

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
	"github.com/karpenter-go/karpenter/internal/limits"
)

// A static pool gets no nodes above its limit, even while another plan launches nodes of the pool.
func TestStaticLimitsOfPlansTogether(t *testing.T) {
	w, _ := newStaticWorld(t)
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Spec.Limits = apiv1.Limits{model.Nodes: resource.MustParse("6")}
	w.update(pool)
	w.Cluster.Set(pool)
	w.Limits = &limits.Ledger{}
	s := w.Cluster.Snapshot()
	limited, _ := s.Pool("default")
	_, done := w.Limits.Take("provisioner", verify.Rules{}, s, []model.PlannedNode{{Pool: limited}, {Pool: limited}})
	w.pass(minInterval)
	if n := len(w.claims()); n != 4 {
		t.Errorf("%d claims while two more are being created, want the one there was and three", n)
	}
	done()
	w.pass(poll)
	if n := len(w.claims()); n != 6 {
		t.Errorf("%d claims after the others were not created, want 6", n)
	}
}
