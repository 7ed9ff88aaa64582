package disruption

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Label values of the disruption metrics.
const (
	typeEmpty      = "empty"
	decisionDelete = "delete"
)

// measure sets the gauges that follow from a decision.
func (c *Controller) measure(s *model.Snapshot, d disrupt.Decision, took time.Duration) {
	m := c.Metrics
	m.Disruption.DecisionEvaluationDurationSeconds.WithLabelValues(
		lower(apiv1.DisruptionReasonEmpty), typeEmpty).Observe(took.Seconds())
	eligible := len(d.Commands)
	for _, b := range d.Blocked {
		if b.Verdict.Rule == model.RuleBudget {
			eligible++
		}
	}
	m.Disruption.EligibleNodes.WithLabelValues(lower(apiv1.DisruptionReasonEmpty)).Set(float64(eligible))
	before := disrupt.BudgetsOf(s)
	cost := costs(s)
	for _, p := range s.Pools() {
		m.NodePools.CostTotal.WithLabelValues(p.Name).Set(cost[p.Name])
		a := before.Of(p.Name)
		for _, reason := range disrupt.Reasons {
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
			sum[n.Pool] += disrupt.Price(s, n)
		}
	}
	return sum
}

func lower(r apiv1.DisruptionReason) string { return strings.ToLower(string(r)) }

func (c *Controller) tellMarked(ctx context.Context, cmd model.Command) {
	names := make([]string, len(cmd.Nodes))
	for i, n := range cmd.Nodes {
		names[i] = n.Name
		c.Metrics.Disruption.DecisionsByNodepoolTotal.WithLabelValues(
			n.Pool, decisionDelete, lower(cmd.Reason), typeEmpty).Inc()
	}
	c.Metrics.Disruption.DecisionsTotal.WithLabelValues(decisionDelete, lower(cmd.Reason), typeEmpty).Inc()
	ctrl.LoggerFrom(ctx).Info("disrupting node(s)", "reason", lower(cmd.Reason), "decision", decisionDelete,
		"nodes", names, "savesPerHour", cmd.Saves)
}

func (c *Controller) tellEnded(ctx context.Context, s *model.Snapshot, n *model.Node, reason apiv1.DisruptionReason) {
	policy := ""
	if p, ok := s.Pool(n.Pool); ok {
		policy = string(p.Object.Spec.Disruption.ConsolidationPolicy)
	}
	labels := []string{
		lower(reason), n.Pool, n.Labels[apiv1.CapacityTypeLabelKey], policy,
		telemetry.TerminationMode(n.Claim.Spec.TerminationGracePeriod),
	}
	c.Metrics.NodeClaims.DisruptedTotal.WithLabelValues(labels...).Inc()
	c.Metrics.Pods.DisruptionInitiatedTotal.WithLabelValues(labels...).Add(float64(len(n.Reschedulable())))
	message := fmt.Sprintf("Disrupting the node: %s", reason)
	c.Events.Publish(
		telemetry.Event{
			Object: n.Object, Type: corev1.EventTypeNormal, Reason: telemetry.EventDisruptionTerminating, Message: message,
		},
		telemetry.Event{
			Object: n.Claim, Type: corev1.EventTypeNormal, Reason: telemetry.EventDisruptionTerminating, Message: message,
		})
	ctrl.LoggerFrom(ctx).Info("deleted nodeclaim", "reason", lower(reason),
		"NodeClaim", map[string]string{"name": n.Claim.Name}, "Node", map[string]string{"name": n.Name})
}

// tellBlocked tells owners what holds their nodes, as far as it is theirs to change.
func (c *Controller) tellBlocked(s *model.Snapshot, d disrupt.Decision) {
	for _, b := range d.Blocked {
		switch b.Verdict.Rule {
		case model.RuleAnnotation, model.RuleNominated:
		default:
			continue
		}
		message := "Cannot disrupt the node: " + b.Verdict.String()
		if b.Node.Object != nil {
			c.Events.Publish(telemetry.Event{
				Object: b.Node.Object, Type: corev1.EventTypeNormal,
				Reason: telemetry.EventDisruptionBlocked, Message: message,
			})
		}
		c.Events.Publish(telemetry.Event{
			Object: b.Node.Claim, Type: corev1.EventTypeNormal,
			Reason: telemetry.EventDisruptionBlocked, Message: message,
		})
	}
	for _, p := range s.Pools() {
		for _, reason := range disrupt.Reasons {
			a := d.Budgets.Of(p.Name)
			if a.Nodes == 0 || a.Allowed[reason] > 0 {
				continue
			}
			c.Events.Publish(telemetry.Event{
				Object: p.Object, Type: corev1.EventTypeNormal, Reason: telemetry.EventDisruptionBlocked,
				Message: fmt.Sprintf("No node may be disrupted for reason %s: budget %q is in force", reason, a.Names[reason]),
				Dedupe:  []string{p.Name, string(reason)}, For: time.Minute,
			})
		}
	}
}
