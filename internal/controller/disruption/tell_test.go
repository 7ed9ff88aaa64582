package disruption

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// about returns the names of the objects that have an event with the reason.
func (e *ear) about(reason string) []string {
	var names []string
	for _, h := range e.heard {
		if h.Reason == reason {
			names = append(names, h.Object.(client.Object).GetName())
		}
	}
	slices.Sort(names)
	return names
}

func wantAbout(t *testing.T, e *ear, reason string, names ...string) {
	t.Helper()
	if got := e.about(reason); !slices.Equal(got, names) {
		t.Errorf("%s is on %v, want %v", reason, got, names)
	}
}

// The event about the approved consolidation of one node is on the node and its claim. For several nodes, one event is on their
// NodePool.
func TestApprovedConsolidation(t *testing.T) {
	w, heard := newDearWorld(t), &ear{}
	w.Events = heard
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Spec.Disruption.ConsolidationPolicy = apiv1.ConsolidationPolicyBalanced
	w.update(pool)
	w.Cluster.Set(pool)
	w.pass(minInterval)
	wantAbout(t, heard, telemetry.EventConsolidationApproved, "claim-0", "node-0")

	w = newWorld(t, "0", 2)
	heard = &ear{}
	w.Events = telemetry.Recorder(heard)
	w.Cluster.Set(pool)
	s := w.Cluster.Snapshot()
	a, _ := s.NodeByName("node-0")
	b, _ := s.NodeByName("node-1")
	w.tellMarked(t.Context(), s, &model.Command{
		Reason: apiv1.DisruptionReasonUnderutilized, Method: "multi", Nodes: []*model.Node{a, b},
	})
	got := heard.about(telemetry.EventConsolidationApproved)
	if got = slices.Compact(got); !slices.Equal(got, []string{"default"}) {
		t.Errorf("the approval of two nodes is on %v, want the NodePool", got)
	}
	if len(heard.heard) > 1 && !slices.Equal(heard.heard[0].Dedupe, heard.heard[1].Dedupe) {
		t.Errorf("it is published as different events: %v", heard.heard)
	}
}

// A consolidation that is not valid any more is rejected with an event on the node.
func TestInvalidConsolidation(t *testing.T) {
	w, heard := newDearWorld(t), &ear{}
	w.Events = heard
	w.pass(minInterval)
	r := w.replacement()
	w.Options.Paused = true
	for _, name := range []string{"late-1", "late-2"} {
		w.run(name, "node-0")
	}
	w.boot(r)
	w.pass(poll)
	w.want(0, 0, 0)
	wantAbout(t, heard, telemetry.EventConsolidationRejected, "claim-0", "node-0")
	wantAbout(t, heard, telemetry.EventDisruptionCancelled, "claim-0", "node-0")
}

// Created claims are counted by the reasons of upstream.
func TestReasonsOfCreatedClaims(t *testing.T) {
	for reason, want := range map[string]string{
		"underutilized": "underutilized", "empty": "empty", "drifted": "drifted", "unhealthy": "unhealthy",
		"expired": "provisioned", "static": "provisioned",
	} {
		if got := createdFor(reason); got != want {
			t.Errorf("claims for %s are counted as %s, want %s", reason, got, want)
		}
	}
	w, _ := newStaticWorld(t)
	w.pass(minInterval)
	created := w.Metrics.NodeClaims.CreatedTotal
	if n := testutil.ToFloat64(created.WithLabelValues("provisioned", "default", "false")); n == 0 || testutil.CollectAndCount(created) != 1 {
		t.Errorf("%v claims of the static NodePool are counted as provisioned, in %d series", n, testutil.CollectAndCount(created))
	}
}

// If the reason why a node is blocked changes, that is told at once. The same reason is not repeated.
func TestBlockedForAnotherReason(t *testing.T) {
	for reason, rules := range map[string][]model.Rule{
		telemetry.EventDisruptionBlocked: {model.RuleAnnotation, model.RulePDB, model.RuleAnnotation},
		telemetry.EventUnconsolidatable:  {model.RulePrice, model.RuleUndo, model.RulePrice},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, "100%", 1)
			sink := record.NewFakeRecorder(20)
			w.Events = telemetry.NewRecorder(sink, w.Clock)
			s := w.Cluster.Snapshot()
			n, _ := s.NodeByName("node-0")
			for _, rule := range rules {
				w.tellBlocked(s, disrupt.Decision{Blocked: []model.Blocked{{Node: n, Verdict: model.Verdict{Rule: rule}}}})
			}
			if got := len(sink.Events); got != 4 {
				t.Errorf("%d events, want one on the node and one on the claim for each of two reasons", got)
			}
			for range len(sink.Events) {
				if e := <-sink.Events; !strings.Contains(e, reason) {
					t.Errorf("event %q, want reason %s", e, reason)
				}
			}
		})
	}
}

// A new cause of the same rule is told at once, and so is another mode. Causes that alternate are told once each.
func TestBlockedForAnotherCause(t *testing.T) {
	w := newWorld(t, "100%", 1)
	sink := record.NewFakeRecorder(100)
	w.Events = telemetry.NewRecorder(sink, w.Clock)
	s := w.Cluster.Snapshot()
	n, _ := s.NodeByName("node-0")
	want := func(what string, events int) {
		t.Helper()
		if got := len(sink.Events); got != events {
			t.Errorf("%s: %d events, want %d", what, got, events)
		}
		for len(sink.Events) > 0 {
			<-sink.Events
		}
	}
	blocked := func(c model.Cause) {
		v := model.Verdict{Rule: model.RulePolicy, Cause: c, Key: "default", Subject: w.Clock.Now().String()}
		w.tellBlocked(s, disrupt.Decision{Blocked: []model.Blocked{{Node: n, Verdict: v}}})
		w.clock.Step(time.Minute)
	}
	blocked(model.CauseNever)
	want("the first cause, on node and claim", 2)
	blocked(model.CauseWhenEmpty)
	want("another cause", 2)
	for range 4 {
		blocked(model.CauseNever)
		blocked(model.CauseWhenEmpty)
	}
	want("causes that alternate", 0)

	cmd := model.Command{Nodes: []*model.Node{n}}
	w.tellWithheld(cmd, string(apiv1.ModeDryRun), "Mode DryRun")
	w.tellWithheld(cmd, string(apiv1.ModeDryRun), "Mode DryRun")
	want("a mode", 2)
	w.tellWithheld(cmd, string(apiv1.ModeApprove), "Waiting for approval")
	want("another mode", 2)
}

// The manual lists the reasons that are no event. The table has all rules for which a node can be blocked.
func TestReasonsInTheManual(t *testing.T) {
	page, err := os.ReadFile("../../../docs/disruption.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(page), "These reasons are no event: ")
	list, _, found := strings.Cut(strings.ReplaceAll(list, "\n", " "), ". ")
	if !ok || !found {
		t.Fatal("the manual has no list of reasons that are no event")
	}
	for rule, tt := range map[model.Rule]struct{ inManual, want string }{
		model.RuleLimit:      {"spec.limits", telemetry.EventDisruptionBlocked},
		model.RuleMinValues:  {"minValues", telemetry.EventUnconsolidatable},
		model.RuleEffort:     {"the search limit", ""},
		model.RuleBudget:     {"a used-up budget", ""},
		model.RuleNotReady:   {"a node that is not initialized", ""},
		model.RuleDisrupted:  {"is being disrupted", ""},
		model.RuleAnnotation: {"do-not-disrupt", telemetry.EventDisruptionBlocked},
		model.RulePolicy:     {"paused", telemetry.EventDisruptionBlocked},
		model.RuleNominated:  {"nominated", telemetry.EventDisruptionBlocked},
		model.RuleRecent:     {"`consolidateAfter`", ""},
		model.RulePDB:        {"PodDisruptionBudget", telemetry.EventDisruptionBlocked},
		model.RuleNoPlace:    {"fits on no other node", telemetry.EventDisruptionBlocked},
		model.RulePrice:      {"price", telemetry.EventUnconsolidatable},
		model.RulePayback:    {"payback", telemetry.EventUnconsolidatable},
		model.RuleUndo:       {"replaced", telemetry.EventUnconsolidatable},
		model.RuleSpot:       {"spot", telemetry.EventUnconsolidatable},
		model.RuleNotDue:     {"`no disruption reason applies`", ""},
		model.RuleBuffer:     {"CapacityBuffer", telemetry.EventUnconsolidatable},
	} {
		got := blockedEvent(model.Verdict{Rule: rule}, false)
		if got != tt.want {
			t.Errorf("%s: event %q, want %q", rule.Word(), got, tt.want)
		}
		if listed := strings.Contains(list, tt.inManual); listed != (tt.want == "") {
			t.Errorf("%q is in the manual's list of reasons without an event: %t", tt.inManual, listed)
		}
	}
	for rule := model.RuleBudget; rule <= model.RuleBuffer; rule++ {
		if got := blockedEvent(model.Verdict{Rule: rule}, true); got != blockedEvent(model.Verdict{Rule: rule}, false) {
			t.Errorf("%s: a static NodePool has event %q", rule.Word(), got)
		}
	}
	if got := blockedEvent(model.Verdict{Rule: model.RuleMinValues}, true); got != telemetry.EventDisruptionBlocked {
		t.Errorf("minValues in a static NodePool: event %q", got)
	}
}

// The event says whether all disruption of the node is blocked, or its consolidation alone.
func TestReasonsOfBlockedNodes(t *testing.T) {
	policy := func(c model.Cause) model.Verdict { return model.Verdict{Rule: model.RulePolicy, Cause: c} }
	for _, tt := range []struct {
		verdict model.Verdict
		want    string
	}{
		{policy(model.CauseNoNodePool), telemetry.EventDisruptionBlocked},
		{policy(model.CauseSurplus), telemetry.EventDisruptionBlocked},
		{policy(model.CauseFeatureGate), telemetry.EventDisruptionBlocked},
		{policy(model.CauseBackoff), telemetry.EventDisruptionBlocked},
		{policy(model.CauseExpiring), telemetry.EventDisruptionBlocked},
		{policy(model.CausePaused), telemetry.EventDisruptionBlocked},
		{policy(model.CauseNever), telemetry.EventUnconsolidatable},
		{policy(model.CauseStatic), telemetry.EventUnconsolidatable},
		{model.Verdict{Rule: model.RuleSpot, Cause: model.CauseFeatureGate}, telemetry.EventUnconsolidatable},
		{model.Verdict{Rule: model.RuleBuffer, Subject: "default/spare"}, telemetry.EventUnconsolidatable},
		{model.Verdict{Rule: model.RuleRecent}, ""},
	} {
		w, heard := newWorld(t, "100%", 1), &ear{}
		w.Events = heard
		s := w.Cluster.Snapshot()
		n, _ := s.NodeByName("node-0")
		w.tellBlocked(s, disrupt.Decision{Blocked: []model.Blocked{{Node: n, Verdict: tt.verdict}}})
		for _, reason := range []string{telemetry.EventDisruptionBlocked, telemetry.EventUnconsolidatable} {
			var want []string
			if reason == tt.want {
				want = []string{"claim-0", "node-0"}
			}
			if got := heard.about(reason); !slices.Equal(got, want) {
				t.Errorf("%q: %s is on %v, want %v", tt.verdict, reason, got, want)
			}
		}
	}
}

// A NodeClaim without a NodePool is not disrupted, and an event says so.
func TestNodeWithoutNodePool(t *testing.T) {
	w, heard := newWorld(t, "100%", 1), &ear{}
	w.Events = heard
	claim, node := &apiv1.NodeClaim{}, &corev1.Node{}
	w.get("claim-0", claim)
	w.get("node-0", node)
	delete(claim.Labels, apiv1.NodePoolLabelKey)
	delete(node.Labels, apiv1.NodePoolLabelKey)
	w.Cluster.Set(claim)
	w.Cluster.Set(node)
	w.tellBlocked(w.Cluster.Snapshot(), disrupt.Decision{})
	wantAbout(t, heard, telemetry.EventDisruptionBlocked, "claim-0", "node-0")
}

// If repair of a NodePool is blocked, legacy repair says so on the node alone.
func TestRepairBlocked(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		w, heard := newWorld(t, "100%", 1), &ear{}
		w.Events, w.Options.LegacyRepair = heard, legacy
		s := w.Cluster.Snapshot()
		n, _ := s.NodeByName("node-0")
		w.tellRepairBlocked(s, model.Blocked{Node: n, Verdict: model.Verdict{Rule: model.RuleUnhealthy, Subject: "many nodes are unhealthy"}})
		want := []string{"claim-0", "default", "node-0"}
		if legacy {
			want = []string{"node-0"}
		}
		wantAbout(t, heard, telemetry.EventNodeRepairBlocked, want...)
	}
}
