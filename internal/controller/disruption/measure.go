package disruption

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// methods returns the labels reason and consolidation_type of each method of disruption. Only consolidation and emptiness have a
// consolidation_type.
func (c *Controller) methods() [][2]string {
	list := [][2]string{
		{telemetry.DisruptedEmpty, "empty"}, {telemetry.DisruptedDrifted, ""},
		{telemetry.DisruptedUnderutilized, "multi"}, {telemetry.DisruptedUnderutilized, "single"},
	}
	if c.Options.Repair != nil {
		list = append(list, [2]string{telemetry.DisruptedUnhealthy, ""})
	}
	return list
}

// measure sets the metrics of a decision. One decision evaluates all methods, so its duration is observed for each
// method.
func (c *Controller) measure(ctx context.Context, s *model.Snapshot, d disrupt.Decision, took time.Duration) {
	m := c.Metrics
	for _, labels := range c.methods() {
		m.Disruption.DecisionEvaluationDurationSeconds.WithLabelValues(labels[0], labels[1]).Observe(took.Seconds())
	}
	for _, reason := range budget.Reasons {
		m.Disruption.EligibleNodes.WithLabelValues(lower(reason)).Set(float64(d.Stats.Eligible[reason]))
	}
	if d.Stats.Exhausted {
		m.Disruption.ConsolidationTimeoutsTotal.WithLabelValues("single").Inc()
	}
	for _, move := range d.Stats.Moves {
		if move.Scored && !math.IsInf(move.Score, 1) {
			m.Disruption.ConsolidationScore.WithLabelValues(approvalLabel(move.ScoreApproved), move.Pool, string(move.Policy)).Observe(move.Score)
		}
		m.Disruption.ConsolidationMovesTotal.WithLabelValues(approvalLabel(move.Approved), move.Pool, string(move.Policy)).Inc()
	}
	for _, p := range d.Stats.Panics {
		m.Scheduler.PlanFaultsTotal.WithLabelValues(c.Name(), telemetry.FaultPanic).Inc()
		ctrl.LoggerFrom(ctx).Error(fmt.Errorf("panic: %s", p.Value), "internal error: planning failed for some pods, their nodes are kept",
			"count", len(p.Pods), "stack", p.Stack)
	}
	m.Disruption.BlockedDollarsPerHour.Reset()
	for _, b := range d.Blocked {
		m.Disruption.BlockedDollarsPerHour.WithLabelValues(b.Node.Pool, b.Verdict.Rule.Word()).Add(b.Waste)
	}
	c.measurePools(s)
}

// approvalLabel returns the value of the label decision of the metrics ConsolidationScore and ConsolidationMovesTotal.
func approvalLabel(ok bool) string {
	if ok {
		return "approved"
	}
	return "rejected"
}

// measurePools sets the gauges of every NodePool to the values before the decision, and removes those of deleted
// NodePools.
func (c *Controller) measurePools(s *model.Snapshot) {
	m := c.Metrics
	for name := range c.poolsWithGauges {
		if _, there := s.Pool(name); !there {
			of := prometheus.Labels{"nodepool": name}
			m.NodePools.CostTotal.DeletePartialMatch(of)
			m.NodePools.CostTrackerErrorsTotal.DeletePartialMatch(of)
			m.NodePools.AllowedDisruptions.DeletePartialMatch(of)
			m.NodePools.NodesConsumingBudgets.DeletePartialMatch(of)
		}
	}
	c.poolsWithGauges = map[string]bool{}
	before := budget.Of(s, false)
	costs, unpriced := poolCosts(s)
	c.countUnpriced(s, unpriced)
	for _, p := range s.Pools() {
		c.poolsWithGauges[p.Name] = true
		m.NodePools.CostTotal.WithLabelValues(p.Name).Set(costs[p.Name])
		m.NodePools.CostTrackerErrorsTotal.WithLabelValues(p.Name) // so that it exists before the first error
		a := before.Of(p.Name)
		for _, reason := range budget.Reasons {
			m.NodePools.AllowedDisruptions.WithLabelValues(p.Name, lower(reason)).Set(float64(a.Left(reason)))
			m.NodePools.NodesConsumingBudgets.WithLabelValues(p.Name, lower(reason)).Set(float64(a.Consuming(reason)))
		}
	}
}

// poolCosts returns the sum of the prices of the launched nodes of each NodePool, in dollars per hour. A node with an unknown
// price counts as free and is in unpriced.
func poolCosts(s *model.Snapshot) (costs map[string]float64, unpriced []*model.Node) {
	costs = map[string]float64{}
	for _, n := range s.Nodes() {
		if !n.Managed() || !n.Launched() {
			continue
		}
		price, known := s.Price(n)
		costs[n.Pool] += price
		if !known {
			unpriced = append(unpriced, n)
		}
	}
	return costs, unpriced
}

// countUnpriced counts an error for each of the nodes that is in a NodePool and whose price was known at the last call.
func (c *Controller) countUnpriced(s *model.Snapshot, nodes []*model.Node) {
	before := c.unpriced
	c.unpriced = map[string]bool{}
	for _, n := range nodes {
		c.unpriced[n.Name] = true
		if _, there := s.Pool(n.Pool); there && !before[n.Name] {
			c.Metrics.NodePools.CostTrackerErrorsTotal.WithLabelValues(n.Pool).Inc()
		}
	}
}

// lower returns the value of the label reason.
func lower(r apiv1.DisruptionReason) string { return strings.ToLower(string(r)) }

// disruptedLabels returns the labels of the metrics that count disrupted nodes and their pods. policy is the consolidationPolicy of
// a node that is removed by consolidation or because it is empty, and empty for others.
func disruptedLabels(n *model.Node, reason, policy string) []string {
	return []string{
		reason, n.Pool, n.Labels[apiv1.CapacityTypeLabelKey], policy, telemetry.TerminationMode(n.Claim.Spec.TerminationGracePeriod),
	}
}

// consolidationType returns the value of the label consolidation_type for a method. It is empty except for consolidation and
// emptiness.
func consolidationType(method string) string {
	switch method {
	case "empty", "single", "multi":
		return method
	}
	return ""
}

// storeConsolidationTypes stores the consolidation type of the nodes of a command in memory. It is lost on a restart, see
// consolidationTypeOf.
func (c *Controller) storeConsolidationTypes(cmd *model.Command) {
	if c.consolidationTypes == nil {
		c.consolidationTypes = map[types.UID]string{}
	}
	for _, n := range cmd.Nodes {
		c.consolidationTypes[n.Claim.UID] = consolidationType(cmd.Method)
	}
}

// dropConsolidationTypes removes the consolidation types of NodeClaims that were deleted or are no longer marked.
func (c *Controller) dropConsolidationTypes(s *model.Snapshot) {
	if len(c.consolidationTypes) == 0 {
		return
	}
	kept := map[types.UID]string{}
	for _, n := range s.Nodes() {
		if kind, known := c.consolidationTypes[claimUID(n)]; known && marked(n) {
			kept[n.Claim.UID] = kind
		}
	}
	c.consolidationTypes = kept
}

// claimUID returns the UID of the claim of the node, empty if it has none.
func claimUID(n *model.Node) types.UID {
	if n.Claim == nil {
		return ""
	}
	return n.Claim.UID
}

// consolidationTypeOf returns the consolidation type of a marked node. After a restart the type is not known. Then it is "empty"
// for an empty node, "single" for an underutilized one, and "" for others.
func (c *Controller) consolidationTypeOf(n *model.Node) string {
	if kind, known := c.consolidationTypes[n.Claim.UID]; known {
		return kind
	}
	switch status.Reason(n) {
	case apiv1.DisruptionReasonEmpty:
		return "empty"
	case apiv1.DisruptionReasonUnderutilized:
		return "single"
	}
	return ""
}
