package disruption

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/repair"
)

// gpu is the node condition that is repaired in these tests.
const gpu corev1.NodeConditionType = "GPUReady"

// policies returns policies that replace a node 10 minutes after its GPU fails, or reboot it if the reason is Stuck. A drain may
// take 5 minutes.
func policies(t testing.TB) *repair.Policies {
	t.Helper()
	bound := 5 * time.Minute
	replace := repair.Policy{
		ConditionType: gpu, ConditionStatus: corev1.ConditionFalse, TolerationDuration: 10 * time.Minute,
		TerminationGracePeriod: &bound, Action: repair.ReplaceNode,
	}
	reboot := replace
	reboot.ReasonRegex, reboot.Action = "Stuck", repair.RebootNode
	p, err := repair.Compile([]repair.Policy{replace, reboot})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// set sets the GPU condition of node-0.
func (w *world) set(status corev1.ConditionStatus, reason string) {
	w.t.Helper()
	n := &corev1.Node{}
	w.get("node-0", n)
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		{Type: gpu, Status: status, Reason: reason, LastTransitionTime: metav1.Time{Time: w.clock.Now()}},
	}
	w.updateStatus(n)
	w.watch()
}

func newSickWorld(t *testing.T, reason string) *world {
	w := newDearWorld(t)
	w.Options.Repair, w.Options.Paused = policies(t), true
	w.set(corev1.ConditionFalse, reason)
	w.pass(minInterval)
	w.want(0, 0, 0)
	return w
}

// The replacement is launched first. The time limit of the drain begins with the deletion, however long the launch took.
func TestRepairReplacesFirst(t *testing.T) {
	w := newSickWorld(t, "Broken")
	w.pass(10 * time.Minute)
	w.want(1, 0, 1)
	r := w.replacement()
	if r == nil || r.Annotations[apiv1.RepairAttemptAnnotationKey] != "1" {
		t.Fatalf("replacement is %v", r)
	}
	w.pass(3 * time.Minute)
	w.boot(r)
	w.pass(poll)
	w.want(1, 1, 1)
	claim := &apiv1.NodeClaim{}
	w.get("claim-0", claim)
	want := w.clock.Now().Add(5 * time.Minute).UTC().Format(time.RFC3339)
	if got := claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]; got != want {
		t.Errorf("the drain ends at %s, want %s", got, want)
	}
	if got := testutil.ToFloat64(w.Metrics.NodeClaims.UnhealthyDisruptedTotal.WithLabelValues(
		"gpu_ready", "default", "on-demand", "", "eventual")); got != 1 {
		t.Errorf("%v nodes are counted as repaired, want 1", got)
	}
}

// If a failing condition recovers only for moments, its repair toleration does not begin again.
func TestRepairOfFlappingNode(t *testing.T) {
	w := newSickWorld(t, "Broken")
	for range 4 {
		w.pass(time.Minute)
		w.set(corev1.ConditionTrue, "Fine")
		w.pass(time.Minute)
		w.set(corev1.ConditionFalse, "Broken")
	}
	w.pass(time.Minute)
	w.want(0, 0, 0)
	w.pass(time.Minute)
	w.want(1, 0, 1)
}

// A repair that is rolled back because its replacement was never initialized counts: the next repair is delayed.
func TestRolledBackRepairIsRemembered(t *testing.T) {
	w := newSickWorld(t, "Broken")
	w.pass(10 * time.Minute)
	first := w.replacement()
	w.vanish(first)
	w.pass(minInterval)
	w.restart()
	w.pass(minInterval)
	w.want(0, 0, 0)
	claim := &apiv1.NodeClaim{}
	w.get("claim-0", claim)
	if !strings.HasPrefix(claim.Annotations[apiv1.RepairHistoryAnnotationKey], "ReplaceNode@") {
		t.Errorf("annotations are %v", claim.Annotations)
	}
	w.pass(10 * time.Minute)
	w.want(1, 0, 1)
}

func TestRepairRequestsReboot(t *testing.T) {
	w := newSickWorld(t, "Stuck")
	w.pass(10 * time.Minute)
	claim := &apiv1.NodeClaim{}
	w.get("claim-0", claim)
	c := condition.Get(claim, apiv1.ConditionTypeRebooting)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != apiv1.ReasonRebootRequested || c.Message != "rebooting for GPUReady/Stuck" {
		t.Fatalf("condition is %+v", c)
	}
	if got := claim.Annotations[apiv1.RebootTerminationGracePeriodAnnotationKey]; got != "5m0s" {
		t.Errorf("the drain is bounded by %q", got)
	}
	if !strings.HasPrefix(claim.Annotations[apiv1.RepairHistoryAnnotationKey], "RebootNode@") {
		t.Errorf("annotations are %v", claim.Annotations)
	}
	if got := testutil.ToFloat64(w.Metrics.Disruption.DecisionsTotal.WithLabelValues("reboot", "unhealthy", "")); got != 1 {
		t.Errorf("%v decisions to reboot, want 1", got)
	}
	w.restart()
	w.pass(poll) // a new process does not request the reboot again
	w.want(1, 0, 0)
}

// With --legacy-node-repair, the node is deleted without a drain, although the budget allows no disruption.
func TestLegacyRepairEndsByForce(t *testing.T) {
	w := newWorld(t, "0", 6)
	w.Options.Repair, w.Options.LegacyRepair = policies(t), true
	w.set(corev1.ConditionFalse, "Broken")
	w.pass(9 * time.Minute)
	w.want(0, 0, 0)
	w.pass(time.Minute)
	w.want(0, 1, 0)
	for _, c := range w.claims() {
		if c.DeletionTimestamp != nil && c.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] == "" {
			t.Error("the claim ends without a deadline")
		}
	}
}

// A NodeClaim that could not be deleted has no deadline: otherwise a later disruption would not drain its node. If the deadline
// could not be written after the deletion, the next pass writes it.
func TestLegacyRepairDeletesBeforeTheDeadline(t *testing.T) {
	w := newWorld(t, "0", 6)
	w.Options.Repair, w.Options.LegacyRepair = policies(t), true
	fails, refused := "delete", errors.New("refused")
	stored, ok := w.client.(client.WithWatch)
	if !ok {
		t.Fatal("the client has no watch")
	}
	w.Actor.Client = interceptor.NewClient(stored, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if fails == "delete" {
				return refused
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if fails == "patch" && o.GetAnnotations()[apiv1.NodeClaimTerminationTimestampAnnotationKey] != "" {
				return refused
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	w.set(corev1.ConditionFalse, "Broken")
	w.clock.Step(10 * time.Minute)
	for _, step := range []struct {
		fails    string
		deleting int
		deadline bool
	}{{"delete", 0, false}, {"patch", 1, false}, {"", 1, true}} {
		fails = step.fails
		w.clock.Step(time.Minute)
		if _, err := w.Reconcile(t.Context(), ctrl.Request{}); errors.Is(err, refused) != (step.fails != "") {
			t.Errorf("%q fails: error %v", step.fails, err)
		}
		w.watch()
		w.want(0, step.deleting, 0)
		claim := &apiv1.NodeClaim{}
		w.get("claim-0", claim)
		if at := claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]; (at != "") != step.deadline {
			t.Errorf("%q fails: the deadline is %q", step.fails, at)
		}
	}
}

// The event about exhausted budgets for reason Unhealthy is published only if repair consumes budgets.
func TestBudgetEventForRepairNeedsRepair(t *testing.T) {
	for name, tt := range map[string]struct {
		set  func(*world)
		want bool
	}{
		"repair is off":    {func(*world) {}, false},
		"repair is on":     {func(w *world) { w.Options.Repair = policies(t) }, true},
		"legacy repair is": {func(w *world) { w.Options.Repair, w.Options.LegacyRepair = policies(t), true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "0", 2)
			events := &ear{}
			w.Events = events
			tt.set(w)
			w.pass(poll)
			var unhealthy, drifted bool
			for _, e := range events.heard {
				unhealthy = unhealthy || strings.Contains(e.Message, "for reason Unhealthy")
				drifted = drifted || strings.Contains(e.Message, "for reason Drifted")
			}
			if unhealthy != tt.want || !drifted {
				t.Errorf("events for Unhealthy %v and Drifted %v, want %v and true", unhealthy, drifted, tt.want)
			}
		})
	}
}
