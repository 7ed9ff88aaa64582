package disruption

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// measure sets the gauges that follow from a decision.
func (c *Controller) measure(ctx context.Context, s *model.Snapshot, d disrupt.Decision, took time.Duration) {
	m := c.Metrics
	m.Disruption.DecisionEvaluationDurationSeconds.WithLabelValues(
		lower(apiv1.DisruptionReasonUnderutilized), "multi").Observe(took.Seconds())
	for _, reason := range budget.Reasons {
		m.Disruption.EligibleNodes.WithLabelValues(lower(reason)).Set(float64(d.Stats.Eligible[reason]))
	}
	if d.Stats.Exhausted {
		m.Disruption.ConsolidationTimeoutsTotal.WithLabelValues("single").Inc()
	}
	for _, score := range d.Stats.Scores {
		decision := "rejected"
		if score.Approved {
			decision = "approved"
		}
		labels := []string{decision, score.Pool, string(apiv1.ConsolidationPolicyBalanced)}
		if !math.IsInf(score.Value, 1) {
			m.Disruption.ConsolidationScore.WithLabelValues(labels...).Observe(score.Value)
		}
		m.Disruption.ConsolidationMovesTotal.WithLabelValues(labels...).Inc()
	}
	for _, p := range d.Stats.Panics {
		m.Scheduler.PlanFaultsTotal.WithLabelValues(c.Name(), telemetry.FaultPanic).Inc()
		ctrl.LoggerFrom(ctx).Error(fmt.Errorf("panic: %s", p.Value), "internal error: planning failed for some pods, their nodes are kept",
			"count", len(p.Pods), "stack", p.Stack)
	}
	m.Disruption.BlockedDollarsPerHour.Reset()
	for _, b := range d.Blocked {
		m.Disruption.BlockedDollarsPerHour.WithLabelValues(b.Node.Pool, b.Verdict.Rule.Word()).Add(b.Worth)
	}
	c.measurePools(s)
}

// measurePools sets the gauges of every pool as it was before the decision, and drops those of pools that are gone.
func (c *Controller) measurePools(s *model.Snapshot) {
	m := c.Metrics
	for name := range c.measured {
		if _, there := s.Pool(name); !there {
			of := prometheus.Labels{"nodepool": name}
			m.NodePools.CostTotal.DeletePartialMatch(of)
			m.NodePools.AllowedDisruptions.DeletePartialMatch(of)
			m.NodePools.NodesConsumingBudgets.DeletePartialMatch(of)
		}
	}
	c.measured = map[string]bool{}
	before := budget.Of(s, false)
	cost := costs(s)
	for _, p := range s.Pools() {
		c.measured[p.Name] = true
		m.NodePools.CostTotal.WithLabelValues(p.Name).Set(cost[p.Name])
		a := before.Of(p.Name)
		for _, reason := range budget.Reasons {
			m.NodePools.AllowedDisruptions.WithLabelValues(p.Name, lower(reason)).Set(float64(a.Left(reason)))
			m.NodePools.NodesConsumingBudgets.WithLabelValues(p.Name, lower(reason)).Set(float64(a.Disrupting))
		}
	}
}

// costs returns what the launched nodes of each pool cost together, in dollars an hour. A node whose price is not known
// counts as free.
func costs(s *model.Snapshot) map[string]float64 {
	sum := map[string]float64{}
	for _, n := range s.Nodes() {
		if n.Managed() && n.Launched() {
			sum[n.Pool] += s.PriceOf(n)
		}
	}
	return sum
}

func lower(r apiv1.DisruptionReason) string { return strings.ToLower(string(r)) }

// consolidationType returns the label of that name: only consolidation and emptiness have one.
func consolidationType(method string) string {
	switch method {
	case "empty", "single", "multi":
		return method
	}
	return ""
}

// typeOf is consolidationType for a node of which only the mark is known.
func (c *Controller) typeOf(n *model.Node) string {
	switch status.Reason(n) {
	case apiv1.DisruptionReasonEmpty:
		return "empty"
	case apiv1.DisruptionReasonUnderutilized:
		return "single"
	}
	return ""
}

// fail counts what could not be carried out: n replacements that did not come up.
func (c *Controller) fail(reason apiv1.DisruptionReason, method, decision string, n int) {
	c.Metrics.Disruption.QueueFailuresTotal.WithLabelValues(decision, lower(reason), consolidationType(method)).Add(float64(n))
}
