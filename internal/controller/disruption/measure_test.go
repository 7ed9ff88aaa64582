package disruption

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// The metric BlockedDollarsPerHour has, for each rule, the waste of the nodes that the rule blocks. The test has a blocked node
// with a price of $0.40 per hour. Its pod needs half of a node that costs $0.10.
func TestBlockedDollars(t *testing.T) {
	w := newDearWorld(t)
	w.Options.Paused = true
	w.pass(minInterval)
	lost := func(rule string) float64 {
		return testutil.ToFloat64(w.Metrics.Disruption.BlockedDollarsPerHour.WithLabelValues("default", rule))
	}
	if got := lost("policy"); math.Abs(got-0.35) > 0.001 {
		t.Errorf("the pause costs $%.4f/h by the metric, want $0.35", got)
	}
	w.Options.Paused = false
	w.pass(poll)
	if got := lost("policy"); got != 0 {
		t.Errorf("$%.4f/h are still lost to a pause that is over", got)
	}
}

// A node whose instance type is not in the catalogue any more has no known price. The error is counted once while that lasts.
func TestUnknownPricesAreCounted(t *testing.T) {
	w := newDearWorld(t)
	w.Options.Paused = true
	errors := func() float64 {
		return testutil.ToFloat64(w.Metrics.NodePools.CostTrackerErrorsTotal.WithLabelValues("default"))
	}
	expect := func(want float64) {
		t.Helper()
		w.pass(poll)
		w.pass(poll)
		if got := errors(); got != want {
			t.Errorf("%v errors, want %v", got, want)
		}
	}
	expect(0)
	node := w.nodes()[0]
	node.Labels[corev1.LabelInstanceTypeStable] = "gone.large"
	w.update(&node)
	w.watch()
	expect(1)
}

// Of five nodes, the budget allows two at a time, and none for reason Underutilized. A node that is not ready consumes the
// budget. Metrics of deleted pools are removed.
func TestBudgetsAreMeasured(t *testing.T) {
	w := newWorld(t, "40%", 5)
	registry := prometheus.NewRegistry()
	w.Metrics = telemetry.NewMetrics(registry, nil)
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Spec.Disruption.Budgets = append(pool.Spec.Disruption.Budgets, apiv1.Budget{
		Nodes: "0", Reasons: []apiv1.DisruptionReason{apiv1.DisruptionReasonUnderutilized},
	})
	w.update(pool)
	w.Cluster.Set(pool)
	sick := w.nodes()[4]
	sick.Status.Conditions[0].Status = corev1.ConditionFalse
	w.updateStatus(&sick)
	w.watch()
	expect := func(empty, drifted, underutilized, out int) {
		t.Helper()
		for reason, left := range map[string]int{"empty": empty, "drifted": drifted, "underutilized": underutilized} {
			may := testutil.ToFloat64(w.Metrics.NodePools.AllowedDisruptions.WithLabelValues("default", reason))
			use := testutil.ToFloat64(w.Metrics.NodePools.NodesConsumingBudgets.WithLabelValues("default", reason))
			if may != float64(left) || use != float64(out) {
				t.Errorf("%v nodes may be %s and %v use the budgets up; want %d and %d", may, reason, use, left, out)
			}
		}
	}
	held := func() (list []int) {
		for _, name := range []string{"allowed_disruptions", "nodes_consuming_budgets", "cost_total"} {
			n, err := testutil.GatherAndCount(registry, "karpenter_nodepools_"+name)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, n)
		}
		return list
	}
	w.pass(minInterval)
	expect(1, 1, 0, 1)
	w.want(1, 0, 1)
	w.pass(poll)
	expect(0, 0, 0, 2)
	if got := held(); !slices.Equal(got, []int{4, 4, 1}) {
		t.Errorf("%v series of the pool, want one for each reason and its price", got)
	}
	w.Cluster.Remove(pool)
	w.pass(poll)
	if got := held(); !slices.Equal(got, []int{0, 0, 0}) {
		t.Errorf("the pool is gone, and %v series are left", got)
	}
}

// The disruption of a replacement that is less than a day old is counted. That of an older one is not.
func TestRedisruptionsAreCounted(t *testing.T) {
	for age, want := range map[time.Duration]float64{time.Hour: 1, 25 * time.Hour: 0} {
		w := newWorld(t, "100%", 1)
		claim := w.claims()[0]
		claim.Annotations = map[string]string{apiv1.ReplacedTypesAnnotationKey: "xlarge/on-demand"}
		claim.CreationTimestamp = metav1.Time{Time: w.clock.Now().Add(-age)}
		w.update(&claim)
		w.watch()
		w.pass(minInterval)
		w.want(1, 0, 1)
		if got := testutil.ToFloat64(w.Metrics.Disruption.RedisruptionsTotal.WithLabelValues("default")); got != want {
			t.Errorf("a node that came %v ago counts %v, want %v", age, got, want)
		}
	}
}

// The labels of metrics about a consolidation have the values that dashboards use. The policy of the NodePool is in snake case,
// but it is as in the API for the metric of moves.
func TestConsolidationIsCounted(t *testing.T) {
	w := newDearWorld(t)
	registry := prometheus.NewRegistry()
	w.Metrics = telemetry.NewMetrics(registry, nil)
	expect := func(name, want string) {
		t.Helper()
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	}
	expect("karpenter_voluntary_disruption_consolidation_timeouts_total", `
		# HELP karpenter_voluntary_disruption_consolidation_timeouts_total Searches for a consolidation that ended at their limit.
		# TYPE karpenter_voluntary_disruption_consolidation_timeouts_total counter
		karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="multi"} 0
		karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="single"} 0
	`)
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Spec.Disruption.ConsolidationPolicy = apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized
	w.update(pool)
	w.Cluster.Set(pool)
	w.pass(minInterval)
	expect("karpenter_consolidation_moves_total", `
		# HELP karpenter_consolidation_moves_total Consolidations that pay, by whether they were approved.
		# TYPE karpenter_consolidation_moves_total counter
		karpenter_consolidation_moves_total{decision="approved",nodepool="default",policy="WhenEmptyOrUnderutilized"} 1
	`)
	if n := testutil.CollectAndCount(w.Metrics.Disruption.ConsolidationScore); n != 0 {
		t.Errorf("%d scores of a NodePool without policy Balanced", n)
	}
	if n := testutil.CollectAndCount(w.Metrics.Disruption.DecisionEvaluationDurationSeconds); n != 4 {
		t.Errorf("%d series of decisions, want one for each method", n)
	}
	expect("karpenter_scheduler_unfinished_work_seconds", `
		# HELP karpenter_scheduler_unfinished_work_seconds Time since the current planning round or decision about disruption began, in seconds, 0 between them.
		# TYPE karpenter_scheduler_unfinished_work_seconds gauge
		karpenter_scheduler_unfinished_work_seconds{controller="disruption",scheduling_id=""} 0
	`)
	w.boot(w.replacement())
	w.pass(poll)
	expect("karpenter_nodeclaims_disrupted_total", `
		# HELP karpenter_nodeclaims_disrupted_total NodeClaims that Karpenter started to disrupt, by reason.
		# TYPE karpenter_nodeclaims_disrupted_total counter
		karpenter_nodeclaims_disrupted_total{capacity_type="on-demand",consolidation_policy="when_empty_or_underutilized",nodepool="default",reason="underutilized",termination_mode="graceful"} 1
	`)
}

// The type of a consolidation is stored until the node is no longer marked. After a restart it is that of a single-node
// consolidation.
func TestTypeOfMarkedNodes(t *testing.T) {
	w := newDearWorld(t)
	w.pass(minInterval)
	n, _ := w.Cluster.Snapshot().NodeByName("node-0")
	if got := w.consolidationTypeOf(n); got != "single" {
		t.Fatalf("type is %q, want single", got)
	}
	w.storeConsolidationTypes(&model.Command{Method: "multi", Nodes: []*model.Node{n}})
	w.dropConsolidationTypes(w.Cluster.Snapshot())
	if got := w.consolidationTypeOf(n); got != "multi" {
		t.Errorf("type of a marked node is %q, want what was decided", got)
	}
	w.state = state{}
	if got := w.consolidationTypeOf(n); got != "single" {
		t.Errorf("type after a restart is %q, want single", got)
	}
	w.storeConsolidationTypes(&model.Command{Method: "multi", Nodes: []*model.Node{n}})
	w.dropConsolidationTypes(&model.Snapshot{})
	if len(w.consolidationTypes) != 0 {
		t.Errorf("types of nodes that are gone: %v", w.consolidationTypes)
	}
}

// A command that is rolled back counts each of its replacements that is not initialized once, although several nodes have the same
// replacements.
func TestFailedReplacementsAreCounted(t *testing.T) {
	o := newColony(t, 0)
	o.node(2, "default", machine("large", 2, 0)) // node-2 is initialized, so it does not count
	for i := range 2 {
		claim := o.claim(fmt.Sprintf("claim-%d", i))
		claim.Annotations = map[string]string{
			apiv1.DisruptionBegunAnnotationKey: epoch.Format(time.RFC3339), apiv1.ReplacedByAnnotationKey: "claim-2,gone-1,gone-2",
		}
		o.must(o.client.Update(t.Context(), claim))
		condition.SetTrueWithReason(claim, apiv1.ConditionTypeDisruptionReason, string(apiv1.DisruptionReasonDrifted), "", epoch)
		o.must(o.client.Status().Update(t.Context(), claim))
		node := o.nodeOf(claim)
		node.Spec.Taints = append(node.Spec.Taints, apiv1.DisruptedNoScheduleTaint())
		o.must(o.client.Update(t.Context(), node))
	}
	o.show()
	o.pass()
	failures := o.c.Metrics.Disruption.QueueFailuresTotal.WithLabelValues("replace", "drifted", "")
	if got := testutil.ToFloat64(failures); got != 2 {
		t.Errorf("%v failures, want 2", got)
	}
}
