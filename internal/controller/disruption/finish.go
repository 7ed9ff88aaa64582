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

const (
	// deletionDelay is the minimum time between marking and deleting a node. During this time the watch delivers pods that were
	// bound just before the mark.
	deletionDelay = 2 * time.Second
	// replacementTimeout is the time after marking at which a disruption is rolled back if a replacement is not initialized, as in
	// upstream.
	replacementTimeout = 10 * time.Minute
)

// restorePlacements computes, once after a start, the destination nodes of the pods on marked nodes. Provisioning then reserves
// capacity there, and the pods move in stages, as without the restart. It returns the snapshot with these destinations.
func (c *Controller) restorePlacements(ctx context.Context, s *model.Snapshot) *model.Snapshot {
	if c.placementsRestored {
		return s
	}
	c.placementsRestored = true
	placements := move.Assignments(s, c.Options.Pack)
	for _, p := range placements {
		c.Cluster.Promise(p.Node.Name, p.Pods, c.Clock.Now().Add(promiseLifetime))
	}
	if len(placements) == 0 {
		return s
	}
	return c.readSnapshot(ctx)
}

// finish continues the disruption of marked nodes. It deletes nodes whose wait is over and whose disruption is still valid.
// It rolls back disruptions that are not valid. It uses only the objects, so an earlier process may have begun the
// disruption. It returns the time until the next call, at most poll.
func (c *Controller) finish(ctx context.Context, s *model.Snapshot) (requeueAfter time.Duration, err error) {
	requeueAfter = poll
	var due []*model.Node
	counted := map[string]bool{}
	for _, n := range s.Nodes() {
		if !hasMarks(n) {
			continue
		}
		p := progressOf(s, n)
		for _, r := range p.uninitialized {
			c.tellWaiting(r, n)
		}
		switch {
		case !p.verdict.OK():
			err = errors.Join(err, c.rollBack(ctx, s, n, p.verdict, counted))
		case p.wait > 0:
			requeueAfter = min(requeueAfter, p.wait)
		default:
			due = append(due, n)
		}
	}
	return requeueAfter, errors.Join(err, c.finishDue(ctx, s, due, counted))
}

// finishDue deletes those of the due nodes whose disruption is still valid, and rolls back the disruption of the others.
func (c *Controller) finishDue(ctx context.Context, s *model.Snapshot, due []*model.Node, counted map[string]bool) (err error) {
	verdicts := disrupt.Revalidate(s, due, c.Options.Pack)
	c.taintDestinations(ctx, s, due, verdicts)
	for _, n := range due {
		if v := verdicts[n.Name]; !v.OK() {
			if kind := c.consolidationTypeOf(n); kind != "" { // as in upstream, only consolidations have an event about failed validation
				c.tellInvalid(n, kind, v)
			}
			if v.Rule != model.RuleRecent { // consolidateAfter delays the next attempt
				c.startBackoff(n)
			}
			err = errors.Join(err, c.rollBack(ctx, s, n, v, counted))
			continue
		}
		reason := status.Reason(n)
		if deleteErr := c.deleteClaim(ctx, n, reason); deleteErr != nil {
			err = errors.Join(err, deleteErr)
			continue
		}
		c.tellDeleted(ctx, s, n, reason)
	}
	return err
}

// deleteClaim deletes the NodeClaim of the node. For a node under repair, the time limit of the drain begins now, so that the time
// for launching the replacement does not count.
func (c *Controller) deleteClaim(ctx context.Context, n *model.Node, reason apiv1.DisruptionReason) error {
	if bound, ok := status.RepairBound(n.Claim); ok && reason == status.ReasonUnhealthy {
		written, err := c.Actor.Expedite(ctx, n, c.Clock.Now().Add(bound))
		c.Cluster.Assume(written...)
		if err != nil {
			return err
		}
	}
	return c.Actor.End(ctx, n)
}

// taintDestinations taints the destination nodes of the pods on the nodes that are about to be deleted, if staged moves are on.
// The taints are later removed one after another. If a node cannot be tainted, the nodes are deleted nevertheless.
func (c *Controller) taintDestinations(ctx context.Context, s *model.Snapshot, due []*model.Node, verdicts map[string]model.Verdict) {
	leaving := slices.DeleteFunc(slices.Clone(due), func(n *model.Node) bool { return !verdicts[n.Name].OK() })
	written, err := c.Actor.Reserve(ctx, move.Destinations(s, leaving))
	c.Cluster.Assume(written...)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("failed to reserve nodes, pods are received out of order", "error", err.Error())
	}
}

// hasMarks reports whether the node has at least one of the marks of a disruption: the condition, the taint, or the names of its
// replacements. It is false for a node that is being deleted or rebooted.
func hasMarks(n *model.Node) bool {
	return n.Managed() && n.Object != nil && !n.Deleting && !n.Rebooting() &&
		(marked(n) || n.Disrupted() || n.Claim.Annotations[apiv1.ReplacedByAnnotationKey] != "")
}

// marked reports whether the NodeClaim of the node has the condition DisruptionReason.
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

// progress is how far the disruption of a node is.
type progress struct {
	// verdict is negative if the disruption must be rolled back.
	verdict model.Verdict
	// wait is the minimum time until the node may be deleted, if the verdict is positive.
	wait time.Duration
	// uninitialized has the replacements that the node waits for. If the verdict is negative, it may lack some.
	uninitialized []*model.Node
}

// progressOf returns the progress of the disruption of a node for which hasMarks is true. The disruption must be rolled back if the
// mark is incomplete or of another controller, if the node is no longer drifted, or if a replacement is gone, is being deleted or
// was not initialized within replacementTimeout.
func progressOf(s *model.Snapshot, n *model.Node) (p progress) {
	refuse := func(rule model.Rule, why string) progress {
		p.verdict = model.Verdict{Rule: rule, Subject: why}
		return p
	}
	switch {
	case !marked(n) || !n.Disrupted():
		return refuse(model.RulePolicy, partlyMarked)
	case !status.Begun(n):
		return refuse(model.RulePolicy, foreignMark)
	case status.Reason(n) == apiv1.DisruptionReasonDrifted && !condition.IsTrue(n.Claim, apiv1.ConditionTypeDrifted):
		return refuse(model.RulePolicy, noLongerDrifted)
	}
	markedAt := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason).LastTransitionTime.Time
	p.wait = max(0, markedAt.Add(deletionDelay).Sub(s.Now))
	for _, name := range status.ReplacedBy(n.Claim) {
		r, ok := s.NodeByName(name)
		switch {
		case !ok || r.Claim == nil || r.Deleting:
			return refuse(model.RuleNoPlace, "replacement NodeClaim "+name+" is being deleted or gone")
		case r.Initialized:
		case s.Now.Sub(markedAt) > replacementTimeout:
			return refuse(model.RuleNoPlace,
				fmt.Sprintf("replacement NodeClaim %s was not initialized within %s", name, units.Period(replacementTimeout)))
		default: // the others are checked as well: if one no longer exists, the disruption is rolled back
			p.uninitialized = append(p.uninitialized, r)
			p.wait = minInterval
		}
	}
	return p
}

// rollBack removes the marks from the node, so that pods can be bound to it again. Its replacements are deleted in the next
// pass, unless pods need them. Replacements that are not initialized count as failed. counted has the names of those that this
// pass has counted, because several nodes may have the same replacements.
func (c *Controller) rollBack(ctx context.Context, s *model.Snapshot, n *model.Node, why model.Verdict, counted map[string]bool) error {
	before := len(counted)
	for _, name := range status.ReplacedBy(n.Claim) {
		if r, ok := s.NodeByName(name); !ok || !r.Initialized {
			counted[name] = true
		}
	}
	if more := len(counted) - before; more > 0 {
		c.Metrics.Disruption.QueueFailuresTotal.WithLabelValues(
			"replace", lower(status.Reason(n)), consolidationType(c.consolidationTypeOf(n))).Add(float64(more))
	}
	c.rolledBack = true
	written, err := c.Actor.Unmark(ctx, n)
	c.Cluster.Assume(written...)
	c.tellCancelled(ctx, n, why)
	return ignoreConflict(err)
}
