package disruption

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// publish publishes the event on the node and its claim. Events with equal reasons about one object are dropped for a while,
// except those whose cause differs.
func (c *Controller) publish(n *model.Node, kind, reason, message string, cause ...string) {
	tell := func(o client.Object) {
		e := telemetry.Event{Object: o, Type: kind, Reason: reason, Message: message}
		if len(cause) > 0 {
			e.Dedupe = append([]string{string(o.GetUID())}, cause...)
		}
		c.Events.Publish(e)
	}
	if n.Object != nil {
		tell(n.Object)
	}
	if n.Claim != nil {
		tell(n.Claim)
	}
}

// tellLaunched reports a NodeClaim that was created. reason is a reason of disruption in lower case, or "static".
func (c *Controller) tellLaunched(ctx context.Context, l act.Launch, reason string) {
	c.Metrics.NodeClaims.CreatedTotal.WithLabelValues(createdFor(reason), l.Node.Pool.Name, fmt.Sprint(l.Node.MinValuesRelaxed)).Inc()
	ctrl.LoggerFrom(ctx).Info("created nodeclaim", "reason", reason, "NodePool", klog.KRef("", l.Node.Pool.Name),
		"NodeClaim", klog.KRef("", l.Claim.Name), "pods", len(l.Node.Pods), "requests", l.Claim.Spec.Resources.Requests,
		"options", len(l.Node.Options), "cheapest", l.Node.Options[0].Name, "price-per-hour", l.Node.Price())
}

// createdFor returns the label reason of the metric of created claims. As in upstream, the reasons of voluntary disruption and
// repair are used. All other claims are "provisioned": those of static NodePools, and replacements of expired nodes.
func createdFor(reason string) string {
	for _, voluntary := range budget.Reasons {
		if reason == lower(voluntary) {
			return reason
		}
	}
	return "provisioned"
}

// tellMarked reports a command whose nodes were marked, or whose reboot was requested.
func (c *Controller) tellMarked(ctx context.Context, s *model.Snapshot, cmd *model.Command) {
	kind := consolidationType(cmd.Method)
	for _, n := range cmd.Nodes {
		c.Metrics.Disruption.DecisionsByNodepoolTotal.WithLabelValues(n.Pool, cmd.Decision(), lower(cmd.Reason), kind).Inc()
		if cmd.TerminateFirst != "" {
			c.Metrics.Disruption.TerminateFirstDecisionsTotal.WithLabelValues(n.Pool, lower(cmd.Reason), cmd.TerminateFirst).Inc()
		}
		if cmd.Reason == apiv1.DisruptionReasonUnderutilized && len(cmd.Replacements) > 0 {
			c.publish(n, corev1.EventTypeNormal, telemetry.EventConsolidationCandidate, cmd.String())
		}
		if p, ok := s.Pool(n.Pool); ok && cmd.Reason == apiv1.DisruptionReasonUnderutilized &&
			p.Object.Spec.Disruption.ConsolidationPolicy == apiv1.ConsolidationPolicyBalanced {
			c.tellApproved(p, n, cmd)
		}
		if recentReplacement(n, c.Clock.Now()) {
			c.Metrics.Disruption.RedisruptionsTotal.WithLabelValues(n.Pool).Inc()
		}
		c.Metrics.Disruption.PodsMovedTotal.WithLabelValues(n.Pool).Add(float64(len(n.Reschedulable())))
	}
	c.Metrics.Disruption.DecisionsTotal.WithLabelValues(cmd.Decision(), lower(cmd.Reason), kind).Inc()
	ctrl.LoggerFrom(ctx).Info("disrupting node(s)", "reason", lower(cmd.Reason), "decision", cmd.Decision(),
		"nodes", cmd.Names(), "replacements", len(cmd.Replacements), "pods", cmd.Moves(), "savings-per-hour", cmd.Saves)
}

// tellApproved reports that the score of a consolidation is high enough. The event is on the node, or on the NodePool if there
// are several nodes.
func (c *Controller) tellApproved(p *model.Pool, n *model.Node, cmd *model.Command) {
	if len(cmd.Nodes) == 1 {
		c.publish(n, corev1.EventTypeNormal, telemetry.EventConsolidationApproved, cmd.String())
		return
	}
	c.Events.Publish(telemetry.Event{
		Object: p.Object, Type: corev1.EventTypeNormal, Reason: telemetry.EventConsolidationApproved, Message: cmd.String(),
		Dedupe: append([]string{p.Name}, cmd.Names()...),
	})
}

// tellInvalid reports that the consolidation of a node is not valid any more.
func (c *Controller) tellInvalid(n *model.Node, kind string, why model.Verdict) {
	c.Metrics.Disruption.FailedValidationsTotal.WithLabelValues(kind).Inc()
	c.publish(n, corev1.EventTypeNormal, telemetry.EventConsolidationRejected, cannotConsolidate+why.String())
}

// recentReplacement reports whether the node was launched less than a day ago as a replacement.
func recentReplacement(n *model.Node, now time.Time) bool {
	return n.Claim.Annotations[apiv1.ReplacedTypesAnnotationKey] != "" &&
		now.Sub(n.Claim.CreationTimestamp.Time) < 24*time.Hour
}

// tellWaiting publishes an event on r, a replacement that is not ready, for which the marked node n waits.
func (c *Controller) tellWaiting(r, n *model.Node) {
	reason, message := telemetry.EventDisruptionLaunching, "Launching as replacement for node "+n.Name
	if r.Launched() {
		reason, message = telemetry.EventDisruptionWaitingReadiness, "Waiting for initialization; node "+n.Name+" is deleted afterwards"
	}
	c.Events.Publish(telemetry.Event{Object: r.Claim, Type: corev1.EventTypeNormal, Reason: reason, Message: message})
}

// tellWithheld publishes an event on the nodes of a command that is not executed because of a mode or a limit, the cause.
func (c *Controller) tellWithheld(cmd model.Command, cause, message string) {
	for _, n := range cmd.Nodes {
		c.publish(n, corev1.EventTypeNormal, telemetry.EventDisruptionWithheld, message, cause)
	}
}

// tellProposed reports a command that is not executed because of the modes of its NodePools. If one of them has mode DryRun, the
// message is about that mode, because an approval has no effect there.
func (c *Controller) tellProposed(s *model.Snapshot, cmd model.Command) {
	for _, n := range cmd.Nodes {
		if p, ok := s.Pool(n.Pool); ok && p.Mode(c.Options.Mode) == apiv1.ModeDryRun {
			c.tellWithheld(cmd, string(apiv1.ModeDryRun), "Mode DryRun: would "+cmd.String())
			return
		}
	}
	c.tellWithheld(cmd, string(apiv1.ModeApprove), fmt.Sprintf("Waiting for approval to %s: set annotation %s=\"true\" on each of these nodes",
		cmd, apiv1.DisruptionApprovedAnnotationKey))
}

// tellCancelled reports that the marks were removed from a node. A partial mark, whose other write was lost, is logged at debug
// level only.
func (c *Controller) tellCancelled(ctx context.Context, n *model.Node, why model.Verdict) {
	c.publish(n, corev1.EventTypeWarning, telemetry.EventDisruptionCancelled,
		"Disruption cancelled, node accepts pods again: "+why.String())
	log := ctrl.LoggerFrom(ctx).WithValues("Node", klog.KRef("", n.Name), "cause", why.String())
	if reason := status.Reason(n); reason != "" && why.Subject != partlyMarked {
		log.Info("cancelled disruption", "reason", lower(reason))
		return
	}
	log.V(1).Info("removed marks of an interrupted disruption")
}

// tellDeleted reports that the NodeClaim of the node was deleted for the reason.
func (c *Controller) tellDeleted(ctx context.Context, s *model.Snapshot, n *model.Node, reason apiv1.DisruptionReason) {
	policy := ""
	if p, ok := s.Pool(n.Pool); ok && consolidationType(c.consolidationTypeOf(n)) != "" {
		policy = telemetry.SnakeCase(string(p.Object.Spec.Disruption.ConsolidationPolicy))
	}
	labels := disruptedLabels(n, lower(reason), policy)
	if reason == status.ReasonUnhealthy {
		var bound *time.Duration
		if d, ok := status.RepairBound(n.Claim); ok {
			bound = &d
		}
		c.countRepaired(n, n.Claim.Annotations[apiv1.RepairConditionAnnotationKey], bound)
	}
	c.Metrics.NodeClaims.DisruptedTotal.WithLabelValues(labels...).Inc()
	c.Metrics.Pods.DisruptionInitiatedTotal.WithLabelValues(labels...).Add(float64(len(n.Reschedulable())))
	cause := string(reason)
	if reason == reasonStaticScaleIn {
		cause = fmt.Sprintf("NodePool %q has more nodes than spec.replicas", n.Pool)
	}
	c.publish(n, corev1.EventTypeNormal, telemetry.EventDisruptionTerminating, "Disrupting Node: "+cause)
	ctrl.LoggerFrom(ctx).Info("deleting nodeclaim", "reason", lower(reason), "NodeClaim", klog.KRef("", n.Claim.Name),
		"Node", klog.KRef("", n.Name))
}

// Prefixes of events about nodes that are not disrupted, and about rejected consolidations.
const (
	cannotDisrupt     = "Cannot disrupt Node: "
	cannotConsolidate = "Cannot consolidate Node: "
)

// tellBlocked publishes events about the rules that block the disruption of nodes. It omits rules that users cannot change and
// that do not explain costs.
func (c *Controller) tellBlocked(s *model.Snapshot, d disrupt.Decision) {
	for _, b := range d.Blocked {
		if b.Verdict.Rule == model.RuleUnhealthy {
			c.tellRepairBlocked(s, b)
			continue
		}
		p, ok := s.Pool(b.Node.Pool)
		switch reason := blockedEvent(b.Verdict, ok && p.Static()); reason {
		case "":
		case telemetry.EventDisruptionBlocked:
			c.publish(b.Node, corev1.EventTypeNormal, reason, cannotDisrupt+explain.Sentence(b.Verdict), dedupeKeys(b.Verdict)...)
		case telemetry.EventConsolidationRejected:
			c.publish(b.Node, corev1.EventTypeNormal, reason, cannotConsolidate+explain.Sentence(b.Verdict))
		default:
			c.publish(b.Node, corev1.EventTypeNormal, reason, cannotConsolidate+explain.Sentence(b.Verdict), dedupeKeys(b.Verdict)...)
		}
	}
	c.tellWithoutPool(s)
	c.tellPools(s)
}

// dedupeKeys returns the values by which events about blocked nodes are distinguished. A node has few of them: amounts, names of
// pods and prices, which change from pass to pass, are not among them.
func dedupeKeys(v model.Verdict) []string {
	return []string{strconv.Itoa(int(v.Rule)), strconv.Itoa(int(v.Cause)), v.Key}
}

// blockedEvent returns the reason of the event about a node that is not disrupted because of the verdict, empty for no event. It is
// Unconsolidatable only if the verdict keeps the node from consolidation alone. Nodes of static NodePools are not consolidated, so
// minValues keep them from another disruption.
func blockedEvent(v model.Verdict, static bool) string {
	switch v.Rule {
	case model.RuleAnnotation, model.RuleNominated, model.RulePDB, model.RuleNoPlace, model.RuleLimit:
		return telemetry.EventDisruptionBlocked
	case model.RuleMinValues:
		if static {
			return telemetry.EventDisruptionBlocked
		}
		return telemetry.EventUnconsolidatable
	case model.RulePayback:
		if v.Cause == model.CauseBalanced {
			return telemetry.EventConsolidationRejected
		}
		return telemetry.EventUnconsolidatable
	case model.RulePrice, model.RuleSpot, model.RuleUndo, model.RuleBuffer:
		return telemetry.EventUnconsolidatable
	case model.RulePolicy:
		switch v.Cause {
		case model.CauseStatic, model.CauseNever, model.CauseWhenEmpty, model.CauseUnpriced, model.CauseOldPrices:
			return telemetry.EventUnconsolidatable
		}
		return telemetry.EventDisruptionBlocked
	}
	return ""
}

// tellWithoutPool publishes an event on each initialized node whose NodeClaim has no NodePool. It is no candidate for
// disruption.
func (c *Controller) tellWithoutPool(s *model.Snapshot) {
	for _, n := range s.Nodes() {
		if n.Managed() && n.Pool == "" && n.Initialized && !n.Deleting {
			c.publish(n, corev1.EventTypeNormal, telemetry.EventDisruptionBlocked, cannotDisrupt+"NodeClaim has no label "+
				apiv1.NodePoolLabelKey+": only nodes of a NodePool are disrupted voluntarily or repaired",
				dedupeKeys(model.Verdict{Rule: model.RulePolicy, Cause: model.CauseNoNodePool})...)
		}
	}
}

// tellPools publishes events on NodePools whose budgets allow no disruption, for each reason that consumes budgets.
func (c *Controller) tellPools(s *model.Snapshot) {
	budgets := budget.Of(s, false)
	for _, p := range s.Pools() {
		for _, reason := range budget.Reasons {
			if reason == status.ReasonUnhealthy && (c.Options.Repair == nil || c.Options.LegacyRepair) {
				continue // this reason consumes no budget
			}
			if a := budgets.Of(p.Name); a.Nodes > 0 && a.Allowed[reason] == 0 {
				c.Events.Publish(telemetry.Event{
					Object: p.Object, Type: corev1.EventTypeNormal, Reason: telemetry.EventDisruptionBlocked,
					Message: fmt.Sprintf("No disruption is allowed for reason %s now: %s", reason, explain.Sentence(budgets.Allow([]string{p.Name}, reason))),
					Dedupe:  []string{p.Name, string(reason)}, For: time.Minute,
				})
			}
		}
	}
}
