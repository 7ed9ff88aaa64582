package disruption

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// endSurplus handles replacements for which no command waits any more. If the replaced nodes no longer exist, the replacement
// becomes an ordinary node. If the command was rolled back, the replacement is deleted unless pods need it. endSurplus runs at
// the end of a pass, because the commands of the pass may use such a replacement.
func (c *Controller) endSurplus(ctx context.Context) error {
	if !slices.ContainsFunc(c.Cluster.Snapshot().Claims.Values(), func(claim *apiv1.NodeClaim) bool {
		return claim.Annotations[apiv1.ReplacesAnnotationKey] != ""
	}) {
		return nil
	}
	s := c.look(ctx)
	var ordinary, left []*model.Node
	for _, n := range s.Nodes() {
		if !n.Managed() || n.Deleting {
			continue
		}
		switch replaced := status.Replaces(n); {
		case len(replaced) == 0 || awaited(s, n, replaced):
		case slices.ContainsFunc(replaced, func(name string) bool { _, there := s.Claims.Get(name); return there }):
			left = append(left, n)
		default:
			ordinary = append(ordinary, n)
		}
	}
	surplus, used := move.SurplusReplacements(s, left, c.Options.Pack)
	var errs []error
	for _, n := range append(ordinary, used...) {
		written, err := c.Actor.Adopt(ctx, n)
		c.Cluster.Assume(written...)
		errs = append(errs, ignoreConflict(err))
	}
	for _, n := range surplus {
		if err := c.Actor.End(ctx, n); err != nil {
			errs = append(errs, err)
			continue
		}
		c.tellSurplus(ctx, n)
	}
	return errors.Join(errs...)
}

// awaited reports whether one of the NodeClaims that n replaces is being deleted, or is marked and waits for n.
func awaited(s *model.Snapshot, n *model.Node, replaced []string) bool {
	for _, name := range replaced {
		claim, there := s.Claims.Get(name)
		if !there {
			continue
		}
		waits := condition.IsTrue(claim, apiv1.ConditionTypeDisruptionReason) &&
			slices.Contains(status.ReplacedBy(claim), n.Claim.Name)
		if waits || claim.DeletionTimestamp != nil {
			return true
		}
	}
	return false
}

// reassign computes, once after a start, the destination nodes of the pods on marked nodes. Provisioning then reserves capacity
// there, and the pods move in stages, as without the restart. It returns the snapshot with these destinations.
func (c *Controller) reassign(ctx context.Context, s *model.Snapshot) *model.Snapshot {
	if c.reassigned {
		return s
	}
	c.reassigned = true
	assignments := move.Assignments(s, c.Options.Pack)
	for _, pl := range assignments {
		c.Cluster.Promise(pl.Node.Name, pl.Pods, c.Clock.Now().Add(promised))
	}
	if len(assignments) == 0 {
		return s
	}
	return c.look(ctx)
}

// tellSurplus reports that a replacement is deleted, because its command was rolled back and no pod needs it.
func (c *Controller) tellSurplus(ctx context.Context, n *model.Node) {
	const reason = telemetry.DisruptedUnusedReplacement
	c.Metrics.NodeClaims.DisruptedTotal.WithLabelValues(reason, n.Pool, n.Labels[apiv1.CapacityTypeLabelKey], "",
		telemetry.TerminationMode(n.Claim.Spec.TerminationGracePeriod)).Inc()
	c.publish(n, corev1.EventTypeNormal, telemetry.EventDisruptionTerminating,
		"Disrupting Node: unused replacement (the nodes that it was launched for are kept, and no pod needs it)")
	ctrl.LoggerFrom(ctx).Info("deleting nodeclaim", "reason", reason, "NodeClaim", klog.KRef("", n.Claim.Name), "Node", klog.KRef("", n.Name))
}
