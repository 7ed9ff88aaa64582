package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// finish continues the disruption of marked nodes. It deletes nodes whose wait is over and whose disruption is still valid.
// It rolls back disruptions that are not valid. It uses only the objects, so an earlier process may have begun the
// disruption. It returns the time until the next call, at most poll.
func (c *Controller) finish(ctx context.Context, s *model.Snapshot) (again time.Duration, err error) {
	again = poll
	var due []*model.Node
	failed := map[string]bool{}
	for _, n := range s.Nodes() {
		if !n.Managed() || n.Deleting || n.Rebooting() {
			continue
		}
		if n.Object == nil || !marked(n) && !n.Disrupted() && n.Claim.Annotations[apiv1.ReplacedByAnnotationKey] == "" {
			continue
		}
		switch wait, v := c.waits(s, n); {
		case !v.OK():
			err = errors.Join(err, c.rollBack(ctx, s, n, v, failed))
		case wait > 0:
			again = min(again, wait)
		default:
			due = append(due, n)
		}
	}
	verdicts := disrupt.Revalidate(s, due, c.Options.Pack)
	c.reserve(ctx, s, due, verdicts)
	for _, n := range due {
		if v := verdicts[n.Name]; !v.OK() {
			if kind := c.typeOf(n); kind != "" { // as in upstream, only consolidations have an event about failed validation
				c.tellInvalid(n, kind, v)
			}
			if v.Rule != model.RuleRecent { // consolidateAfter delays the next attempt
				c.backOff(n)
			}
			err = errors.Join(err, c.rollBack(ctx, s, n, v, failed))
			continue
		}
		reason := status.Reason(n)
		if endErr := c.end(ctx, n, reason); endErr != nil {
			err = errors.Join(err, endErr)
			continue
		}
		c.tellEnded(ctx, s, n, reason)
	}
	return again, err
}

// end deletes the NodeClaim of the node. For a node under repair, the time limit of the drain begins now, so that the time for
// launching the replacement does not count.
func (c *Controller) end(ctx context.Context, n *model.Node, reason apiv1.DisruptionReason) error {
	if bound, ok := status.RepairBound(n.Claim); ok && reason == status.ReasonUnhealthy {
		written, err := c.Actor.Expedite(ctx, n, c.Clock.Now().Add(bound))
		c.Cluster.Assume(written...)
		if err != nil {
			return err
		}
	}
	return c.Actor.End(ctx, n)
}

// reserve taints the destination nodes of the pods on the nodes that are about to be deleted, if staged moves are on. The
// taints are later removed one after another. If a node cannot be tainted, the nodes are deleted nevertheless.
func (c *Controller) reserve(ctx context.Context, s *model.Snapshot, due []*model.Node, verdicts map[string]model.Verdict) {
	leaving := slices.DeleteFunc(slices.Clone(due), func(n *model.Node) bool { return !verdicts[n.Name].OK() })
	written, err := c.Actor.Reserve(ctx, move.Destinations(s, leaving))
	c.Cluster.Assume(written...)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("failed to reserve nodes, pods are received out of order", "error", err.Error())
	}
}

func marked(n *model.Node) bool {
	return condition.IsTrue(n.Claim, apiv1.ConditionTypeDisruptionReason)
}

// partlyMarked is the reason to remove a mark of which only the taint or only the condition exists, because a write was lost.
const partlyMarked = "taint " + apiv1.DisruptedTaintKey + " and condition DisruptionReason do not agree; both were removed"

// foreignMark is the reason to remove the marks of another controller, such as upstream Karpenter before a migration. These marks
// do not name the replacements of the node, so a new decision is made.
const foreignMark = "the disruption was begun by another controller; it is decided again"

// noLongerDrifted is the reason to remove the marks of a node that was marked because of drift, but is no longer drifted. A
// user who takes a change back while replacements boot keeps the nodes.
const noLongerDrifted = "the NodeClaim is no longer drifted"

// waits returns the minimum time until the marked node may be deleted. The verdict is negative if the disruption must be
// rolled back: the mark is incomplete or of another controller, the node is no longer drifted, or a replacement is gone, is
// being deleted or was not initialized within patience.
func (c *Controller) waits(s *model.Snapshot, n *model.Node) (time.Duration, model.Verdict) {
	mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason)
	if !marked(n) || !n.Disrupted() {
		return 0, model.Verdict{Rule: model.RulePolicy, Subject: partlyMarked}
	}
	if !status.Begun(n) {
		return 0, model.Verdict{Rule: model.RulePolicy, Subject: foreignMark}
	}
	if status.Reason(n) == apiv1.DisruptionReasonDrifted && !condition.IsTrue(n.Claim, apiv1.ConditionTypeDrifted) {
		return 0, model.Verdict{Rule: model.RulePolicy, Subject: noLongerDrifted}
	}
	wait := max(0, mark.LastTransitionTime.Add(settle).Sub(s.Now))
	for _, name := range status.ReplacedBy(n.Claim) {
		r, ok := s.NodeByName(name)
		switch {
		case !ok || r.Claim == nil || r.Deleting:
			return 0, model.Verdict{Rule: model.RuleNoPlace, Subject: "replacement NodeClaim " + name + " is being deleted or gone"}
		case r.Initialized:
		case s.Now.Sub(mark.LastTransitionTime.Time) > patience:
			return 0, model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf("replacement NodeClaim %s was not initialized within %s", name, units.Period(patience))}
		default:
			c.tellWaiting(r, n)
			wait = pause // check the others as well: if one no longer exists, the disruption is rolled back
		}
	}
	return wait, model.Verdict{}
}

// rollBack removes the marks from the node, so that pods can be bound to it again. Its replacements are deleted in the next
// pass, unless pods need them. Replacements that are not initialized count as failed. failed has the names of those that this
// pass has counted, because several nodes may have the same replacements.
func (c *Controller) rollBack(ctx context.Context, s *model.Snapshot, n *model.Node, why model.Verdict, failed map[string]bool) error {
	before := len(failed)
	for _, name := range status.ReplacedBy(n.Claim) {
		if r, ok := s.NodeByName(name); !ok || !r.Initialized {
			failed[name] = true
		}
	}
	if more := len(failed) - before; more > 0 {
		c.fail(status.Reason(n), c.typeOf(n), "replace", more)
	}
	c.rolledBack = true
	written, err := c.Actor.Unmark(ctx, n)
	c.Cluster.Assume(written...)
	c.tellCancelled(ctx, n, why)
	return ignoreConflict(err)
}
