package disruption

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// release lets go of replacements that nothing waits for any more. Those whose nodes are all gone have done their part and
// are ordinary nodes from then on. Of those whose command was taken back, what nobody has a use for goes again. It comes
// last in a pass, so that what a command has left behind can be of use to the next.
func (c *Controller) release(ctx context.Context) error {
	if !slices.ContainsFunc(c.Cluster.Snapshot().Claims(), func(claim *apiv1.NodeClaim) bool {
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
		switch replaced := list(n.Claim.Annotations[apiv1.ReplacesAnnotationKey]); {
		case len(replaced) == 0 || awaited(s, n, replaced):
		case slices.ContainsFunc(replaced, func(name string) bool { _, there := s.Claim(name); return there }):
			left = append(left, n)
		default:
			ordinary = append(ordinary, n)
		}
	}
	spare, used := disrupt.Spare(s, left, c.Options)
	var errs []error
	for _, n := range append(ordinary, used...) {
		written, err := c.Actor.Adopt(ctx, n)
		c.Cluster.Assume(written...)
		errs = append(errs, ignoreConflict(err))
	}
	for _, n := range spare {
		if err := c.Actor.End(ctx, n); err != nil {
			errs = append(errs, err)
			continue
		}
		c.tellSpare(ctx, n)
	}
	return errors.Join(errs...)
}

// awaited reports whether one of the claims that n replaces waits for it, or is on its way out.
func awaited(s *model.Snapshot, n *model.Node, replaced []string) bool {
	for _, name := range replaced {
		claim, there := s.Claim(name)
		if !there {
			continue
		}
		waits := condition.IsTrue(claim, apiv1.ConditionTypeDisruptionReason) &&
			slices.Contains(list(claim.Annotations[apiv1.ReplacedByAnnotationKey]), n.Claim.Name)
		if waits || claim.DeletionTimestamp != nil {
			return true
		}
	}
	return false
}

// recall works out anew, once after a start, where the pods of nodes that go will find room: provisioning then keeps their
// places, and they move one place at a time, as they would have if the controller had not been started again. It returns the
// cluster with what was worked out.
func (c *Controller) recall(ctx context.Context, s *model.Snapshot) *model.Snapshot {
	if c.recalled {
		return s
	}
	c.recalled = true
	places := disrupt.Places(s, c.Options)
	for _, pl := range places {
		c.Cluster.Promise(pl.Node.Name, pl.Pods, c.Clock.Now().Add(promised))
	}
	if len(places) == 0 {
		return s
	}
	return c.look(ctx)
}

// tellSpare tells that a replacement goes, because what it was to replace stays.
func (c *Controller) tellSpare(ctx context.Context, n *model.Node) {
	const reason = "spare"
	c.Metrics.NodeClaims.DisruptedTotal.WithLabelValues(reason, n.Pool, n.Labels[apiv1.CapacityTypeLabelKey], "",
		telemetry.TerminationMode(n.Claim.Spec.TerminationGracePeriod)).Inc()
	c.publish(n, corev1.EventTypeNormal, telemetry.EventDisruptionTerminating,
		"The node was launched in the place of others; they stay, and nothing needs it")
	ctrl.LoggerFrom(ctx).Info("deleted nodeclaim", "reason", reason, "NodeClaim", named(n.Claim.Name), "Node", named(n.Name))
}
