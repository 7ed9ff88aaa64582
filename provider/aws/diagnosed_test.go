package aws_test

import (
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/diagnose"
)

// late lets the controller look at a claim whose node should long be there.
func (w *world) late(t *testing.T, name string) {
	t.Helper()
	claim := w.load(t, name)
	condition.SetTrue(claim, apiv1.ConditionTypeLaunched, time.Now().Add(-time.Hour))
	if err := w.kube.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "nodeclaim.diagnosis", name)
}

// A node that does not join is diagnosed on its claim, and the diagnosis goes when it joins after all.
func TestDiagnosis(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	w.running(t, p, "a", "spot")
	w.late(t, "a")
	claim := w.load(t, "a")
	c := condition.Get(claim, diagnose.ConditionJoinFailed)
	if c == nil || c.Status != "True" || c.Reason != diagnose.ReasonSilent {
		t.Errorf("the condition is %+v", c)
	}
	condition.SetTrue(claim, apiv1.ConditionTypeRegistered, time.Now())
	if err := w.kube.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "nodeclaim.diagnosis", "a")
	if c := condition.Get(w.load(t, "a"), diagnose.ConditionJoinFailed); c != nil {
		t.Errorf("the node has joined, and the condition stays: %+v", c)
	}
}
