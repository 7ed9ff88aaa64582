package disruption

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
)

// passes reconciles every ten seconds for a while, without any event of a watch, and returns how many passes decided.
func (w *world) passes(d time.Duration) (n int) {
	w.t.Helper()
	decided := 0
	w.ShiftedZones = nil
	w.PricesCurrent = func() bool { decided++; return true }
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		w.clock.Step(poll)
		if _, err := w.Reconcile(w.t.Context(), ctrl.Request{}); err != nil {
			w.t.Fatal(err)
		}
	}
	return decided
}

// If nothing changes for two minutes, a decision is made once a minute, and again every ten seconds after a change. What the time
// decides is late by a minute at most.
func TestPassesAreRareWhenNothingChanges(t *testing.T) {
	w := newWorld(t, "0", 2)
	if n := w.passes(2 * time.Minute); n != 12 {
		t.Errorf("%d decisions in the first two minutes, want 12", n)
	}
	if n := w.passes(5 * time.Minute); n < 5 || n > 6 {
		t.Errorf("%d decisions in five minutes, want one a minute", n)
	}
	w.watch()
	if n := w.passes(2 * time.Minute); n != 12 {
		t.Errorf("%d decisions in the two minutes after a change, want 12", n)
	}
	w.passes(5 * time.Minute)

	pool := &apiv1.NodePool{}
	w.get("default", pool)
	hour, schedule := apiv1.Duration{Duration: time.Hour}, "0 13 * * *"
	pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "0", Schedule: &schedule, Duration: &hour}}
	w.update(pool)
	w.Cluster.Set(pool)
	w.clock.SetTime(time.Date(2026, 1, 5, 13, 30, 0, 0, time.UTC))
	w.passes(29 * time.Minute)
	w.want(0, 0, 0)
	w.passes(2 * time.Minute) // the schedule ends at 14:00
	w.want(2, 2, 2)
}

// A clock that is put back does not stop the passes.
func TestClockIsPutBack(t *testing.T) {
	w := newWorld(t, "0", 2)
	now := w.clock.Now()
	w.clock.Step(5 * time.Hour)
	if n := w.passes(poll); n != 1 {
		t.Fatalf("%d decisions, want 1", n)
	}
	w.clock.SetTime(now)
	if n := w.passes(poll); n != 1 {
		t.Errorf("%d decisions after the clock was put back, want 1", n)
	}
}

// A pass counts as one without a change only if objects and instance types are those of the pass before.
func TestSameInputs(t *testing.T) {
	w := newWorld(t, "Never", 2)
	offer := &fakecloud.Cloud{}
	w.Cloud = offer
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Spec.Template.Spec.NodeClassRef = fakecloud.Ref("default")
	pool.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	w.Cluster.Set(pool)
	step := func(what string, want bool) {
		t.Helper()
		w.clock.Step(poll)
		w.history.recordCluster(w.Cluster.Version(), w.Throttle.Limits(), w.clock.Now())
		s := w.readSnapshot(t.Context())
		w.history.recordTypes(w.types.Changes())
		if got := w.history.sameInputs(s); got != want {
			t.Errorf("%s: sameInputs is %v, want %v", what, got, want)
		}
	}
	step("first pass", false)
	step("second pass", true)
	w.watch()
	step("after events of the watch", false)
	step("after that", true)
	offer.Types = []*cloud.InstanceType{{Name: "m"}}
	step("with new instance types", false)
	step("with the same", true)
}

// After a pass without commands, the next one is delayed by four times its duration, within bounds.
func TestIntervalAfter(t *testing.T) {
	for _, tt := range []struct {
		took     time.Duration
		commands int
		want     time.Duration
	}{
		{0, 0, minInterval},
		{2 * time.Second, 0, 8 * time.Second},
		{2 * time.Second, 1, minInterval},
		{10 * time.Minute, 0, maxInterval},
	} {
		if got := intervalAfter(tt.took, tt.commands); got != tt.want {
			t.Errorf("after a pass of %s with %d commands: %s, want %s", tt.took, tt.commands, got, tt.want)
		}
	}
}
