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
	s := c.readSnapshot(ctx)
	completed, cancelled := unawaited(s)
	surplus, used := move.SurplusReplacements(s, cancelled, c.Options.Pack)
	var errs []error
	for _, n := range append(completed, used...) {
		written, err := c.Actor.ClearReplaced(ctx, n)
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

// unawaited returns the replacements that no disrupted node waits for: those whose replaced nodes no longer exist, and those whose
// command was rolled back.
func unawaited(s *model.Snapshot) (completed, cancelled []*model.Node) {
	for _, n := range s.Nodes() {
		if !n.Managed() || n.Deleting {
			continue
		}
		switch replaced := status.Replaces(n); {
		case len(replaced) == 0 || awaited(s, n, replaced):
		case status.ReplacesExisting(s, n):
			cancelled = append(cancelled, n)
		default:
			completed = append(completed, n)
		}
	}
	return completed, cancelled
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

// tellSurplus reports that a replacement is deleted, because its command was rolled back and no pod needs it.
func (c *Controller) tellSurplus(ctx context.Context, n *model.Node) {
	const reason = telemetry.DisruptedUnusedReplacement
	c.Metrics.NodeClaims.DisruptedTotal.WithLabelValues(disruptedLabels(n, reason, "")...).Inc()
	c.publish(n, corev1.EventTypeNormal, telemetry.EventDisruptionTerminating,
		"Disrupting Node: unused replacement (the nodes that it was launched for are kept, and no pod needs it)")
	ctrl.LoggerFrom(ctx).Info("deleting nodeclaim", "reason", reason, "NodeClaim", klog.KRef("", n.Claim.Name), "Node", klog.KRef("", n.Name))
}
