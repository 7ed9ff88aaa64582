package disruption

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// noteHealth writes to the NodeClaims of registered nodes since when conditions of their nodes match a repair policy. It
// writes only values that have changed. A failed write is repeated in the next pass.
func (c *Controller) noteHealth(ctx context.Context, s *model.Snapshot) {
	if c.Options.Repair == nil {
		return
	}
	var changed []act.Health
	for _, n := range s.Nodes() {
		if n.Claim == nil || n.Object == nil || !n.Registered || n.Deleting {
			continue
		}
		value := c.Options.Repair.Observe(n.Object, n.Claim, c.healthNoted, s.Now)
		if value != n.Claim.Annotations[apiv1.UnhealthySinceAnnotationKey] {
			changed = append(changed, act.Health{Node: n, Value: value})
			c.tellMatched(ctx, n)
		}
	}
	c.healthNoted = s.Now
	written, err := c.Actor.NoteHealth(ctx, changed)
	c.Cluster.Assume(written...)
	if err = ignoreConflict(err); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to note health of nodes")
	}
}

// tellMatched logs the repair policies that match a node at debug level. It is called after a change of the matching conditions.
func (c *Controller) tellMatched(ctx context.Context, n *model.Node) {
	log := ctrl.LoggerFrom(ctx).V(1).WithValues("Node", klog.KRef("", n.Name))
	matches := c.Options.Repair.Matches(n.Object, n.Claim)
	for _, m := range matches {
		log.Info("matched repair policy", "condition", m.ConditionType, "status", m.ConditionStatus, "reason", m.Reason,
			"reason-regex", m.ReasonRegex, "fallback", m.ReasonRegex == "", "action", m.Action, "eligible-at", m.EligibleAt.UTC().Format(time.RFC3339))
	}
	if len(matches) == 0 {
		log.Info("no longer matches any repair policy")
	}
}

// forceDelete deletes the NodeClaims of unhealthy nodes and sets their termination deadline to now, so that their pods are deleted
// without a drain. If the deadline could not be set, the next decision has the node again.
func (c *Controller) forceDelete(ctx context.Context, cmd *model.Command, now time.Time) error {
	var errs []error
	for _, n := range cmd.Nodes {
		written, err := c.Actor.EndBy(ctx, n, now)
		c.Cluster.Assume(written...)
		if err != nil {
			errs = append(errs, ignoreConflict(err))
			continue
		}
		c.tellForceDeleted(ctx, n, now)
	}
	return errors.Join(errs...)
}

// requestReboot requests the reboot of an unhealthy node. The controller nodeclaim.reboot executes it.
func (c *Controller) requestReboot(ctx context.Context, s *model.Snapshot, cmd *model.Command, now time.Time) error {
	n := cmd.Nodes[0]
	c.tellSelected(ctx, cmd)
	written, err := c.Actor.RequestReboot(ctx, n, cmd.Repair, now)
	c.Cluster.Assume(written...)
	if err != nil || len(written) == 0 {
		return ignoreConflict(err)
	}
	c.storeConsolidationTypes(cmd)
	c.tellMarked(ctx, s, cmd)
	c.record(ctx, s, cmd, nil, nil)
	c.countRepaired(n, string(cmd.Repair.Condition), cmd.Repair.DrainBound)
	labels := disruptedLabels(n, lower(status.ReasonUnhealthy), "")
	c.Metrics.NodeClaims.DisruptedTotal.WithLabelValues(labels...).Inc()
	c.Metrics.Pods.DisruptionInitiatedTotal.WithLabelValues(labels...).Add(float64(len(n.Reschedulable())))
	ctrl.LoggerFrom(ctx).Info("committed node reboot", "Node", klog.KRef("", n.Name), "NodeClaim", klog.KRef("", n.Claim.Name),
		"condition", cmd.Repair.Condition)
	return nil
}

// tellSelected logs why a node is repaired, and how.
func (c *Controller) tellSelected(ctx context.Context, cmd *model.Command) {
	r := cmd.Repair
	action := repair.ReplaceNode
	if r.Reboot {
		action = repair.RebootNode
	}
	log := ctrl.LoggerFrom(ctx).WithValues("Node", klog.KRef("", cmd.Nodes[0].Name), "condition", r.Condition, "status", r.Status,
		"reason", r.Reason, "reason-regex", r.ReasonRegex, "fallback", r.ReasonRegex == "", "action", action,
		"eligible-at", r.EligibleAt.UTC().Format(time.RFC3339))
	if r.Escalated {
		log = log.WithValues("reboot-escalated", true)
	}
	if r.DrainBound != nil {
		log = log.WithValues("termination-grace-period", r.DrainBound.String(), "termination-grace-period-condition", r.DrainBoundBy)
	}
	log.Info("selected repair policy")
}

// tellForceDeleted reports that an unhealthy node is removed without a drain.
func (c *Controller) tellForceDeleted(ctx context.Context, n *model.Node, now time.Time) {
	policies := c.Options.Repair.Replacing()
	r, _, _ := policies.Decide(policies.Matches(n.Object, n.Claim), now)
	c.countRepaired(n, string(r.Condition), nil)
	c.Metrics.NodeClaims.DisruptedTotal.WithLabelValues(disruptedLabels(n, lower(status.ReasonUnhealthy), "")...).Inc()
	c.publish(n, corev1.EventTypeNormal, telemetry.EventDisruptionTerminating, "Disrupting Node: Unhealthy (condition "+
		string(r.Condition)+" exceeded its repair toleration); budgets and do-not-disrupt are not applied")
	ctrl.LoggerFrom(ctx).Info("deleting nodeclaim", "reason", lower(status.ReasonUnhealthy), "condition", r.Condition,
		"NodeClaim", klog.KRef("", n.Claim.Name), "Node", klog.KRef("", n.Name))
}

// countRepaired counts the repair of a node. bound is the time limit of its drain. If it is nil, the limit is the
// terminationGracePeriod of the NodeClaim.
func (c *Controller) countRepaired(n *model.Node, condition string, bound *time.Duration) {
	grace := n.Claim.Spec.TerminationGracePeriod
	if bound != nil {
		grace = &apiv1.Duration{Duration: *bound}
	}
	c.Metrics.NodeClaims.UnhealthyDisruptedTotal.WithLabelValues(telemetry.SnakeCase(condition), n.Pool,
		n.Labels[apiv1.CapacityTypeLabelKey], n.Claim.Status.ImageID, telemetry.TerminationMode(grace)).Inc()
}

// tellRepairBlocked publishes the reason why an unhealthy node is not repaired. If the reason blocks all repair in its NodePool,
// the event is a warning and is also published on the NodePool. With legacy repair it is on the node only, as in upstream.
func (c *Controller) tellRepairBlocked(s *model.Snapshot, b model.Blocked) {
	if b.Verdict.Cause != model.CauseNone {
		c.publish(b.Node, corev1.EventTypeNormal, telemetry.EventDisruptionBlocked, cannotDisrupt+explain.Sentence(b.Verdict), dedupeKeys(b.Verdict)...)
		return
	}
	objects := []client.Object{b.Node.Object}
	if !c.Options.LegacyRepair {
		objects = append(objects, b.Node.Claim)
		if p, ok := s.Pool(b.Node.Pool); ok {
			objects = append(objects, p.Object)
		}
	}
	for _, o := range objects {
		e := telemetry.Event{Object: o, Dedupe: []string{string(o.GetUID())}}
		e.Type, e.Reason, e.Message = corev1.EventTypeWarning, telemetry.EventNodeRepairBlocked, "Not repaired: "+explain.Sentence(b.Verdict)
		c.Events.Publish(e)
	}
}
