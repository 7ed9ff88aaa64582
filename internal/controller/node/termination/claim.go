package termination

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Field indexes that the operator registers with the cache.
const (
	podsByNode        = "spec.nodeName"
	attachmentsByNode = "spec.nodeName"
	nodesByProvider   = "spec.providerID"
	claimsByProvider  = "status.providerID"
)

// managed reports whether the node's class belongs to the provider: by the node's label, or by its claim if the label was
// removed.
func (c *Controller) managed(ctx context.Context, node *corev1.Node) (bool, error) {
	if c.labelled(node) {
		return true, nil
	}
	claim, err := c.claimOf(ctx, node)
	if err != nil || claim == nil {
		return false, err
	}
	return c.Cloud.Facts().Manages(claim.Spec.NodeClassRef), nil
}

// labelled reports whether the node has the label of one of the provider's node classes.
func (c *Controller) labelled(node *corev1.Node) bool {
	for _, class := range c.Cloud.Facts().NodeClasses {
		if _, ok := node.Labels[class.Group+"/"+strings.ToLower(class.Kind)]; ok {
			return true
		}
	}
	return false
}

// claimOf returns the claim of the node, nil if there is none. If two claims have the same provider ID, it also returns nil,
// because the right one is not known. The instance is then terminated by its ID.
func (c *Controller) claimOf(ctx context.Context, node *corev1.Node) (*apiv1.NodeClaim, error) {
	if node.Spec.ProviderID == "" {
		return nil, nil // an empty ID would match the claims that have not launched
	}
	claims := &apiv1.NodeClaimList{}
	err := c.Client.List(ctx, claims, client.MatchingFields{claimsByProvider: node.Spec.ProviderID})
	if err != nil {
		return nil, fmt.Errorf("list claims of node %s: %w", node.Name, err)
	}
	if len(claims.Items) != 1 {
		return nil, nil
	}
	return claims.Items[0].DeepCopy(), nil
}

// deleteClaim requests the deletion of the claim, unless it is nil or already being deleted. It reports whether it sent the
// request. The deletion triggers the controllers of the claim and starts its terminationGracePeriod.
func (c *Controller) deleteClaim(ctx context.Context, claim *apiv1.NodeClaim) (deleted bool, err error) {
	if claim == nil || !claim.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if _, err := act.DeleteClaim(ctx, c.Client, claim); err != nil {
		return false, err
	}
	return true, nil
}

// deadlineOf returns the end of the drain, at which the node is terminated even if pods remain; zero if there is none. It
// publishes the deadline as an event. An invalid annotation is logged and ignored, so that a typo neither stops nor shortens
// a drain.
func (c *Controller) deadlineOf(ctx context.Context, node *corev1.Node, claim *apiv1.NodeClaim) time.Time {
	deadline, err := drain.Deadline(claim)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "ignored invalid termination timestamp", "NodeClaim", klog.KRef("", claim.Name))
	}
	if deadline.IsZero() {
		return deadline
	}
	c.Events.Publish(telemetry.Event{
		Object: node, Type: corev1.EventTypeWarning, Reason: telemetry.EventTerminationGracePeriodExpiring,
		Message: "All pods will be deleted by " + deadline.UTC().Format(time.RFC3339) +
			" (termination deadline of the NodeClaim): PodDisruptionBudgets and do-not-disrupt do not delay it",
	})
	return deadline
}

// setDraining sets the claim's condition Drained to Unknown with reason Draining.
func (c *Controller) setDraining(d *departure) {
	if d.claim != nil {
		condition.SetUnknown(d.claim, apiv1.ConditionTypeDrained, apiv1.ReasonDraining, "", d.now)
	}
}

// setDrained sets the claim's condition Drained to true.
func (c *Controller) setDrained(d *departure) {
	if d.claim != nil {
		condition.SetTrue(d.claim, apiv1.ConditionTypeDrained, d.now)
	}
}

// saveConditions writes the changed conditions of the claim, and counts the node if Drained has become true. It keeps
// conditions that other controllers write at the same time. A claim that is nil or no longer exists is ignored.
func (c *Controller) saveConditions(ctx context.Context, before, claim *apiv1.NodeClaim) error {
	if claim == nil {
		return nil
	}
	_, err := act.AgainDeleting(ctx, c.live(), before, func(stored *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		next := stored.DeepCopy()
		condition.CopyChanged(next, before, claim)
		return next, act.PatchStatus(ctx, c.Client, stored, next)
	})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if !condition.IsTrue(before, apiv1.ConditionTypeDrained) && condition.IsTrue(claim, apiv1.ConditionTypeDrained) {
		c.Metrics.Nodes.DrainedTotal.WithLabelValues(claim.Labels[apiv1.NodePoolLabelKey]).Inc()
		ctrl.LoggerFrom(ctx).Info("drained node", "NodeClaim", klog.KRef("", claim.Name))
	}
	return nil
}

// forceful is the reason for a drain that no disruption has begun.
const forceful = "Forceful Termination"

// cause returns the reason for the drain, for metrics: that of the claim's condition DisruptionReason if it is True, otherwise
// forceful. It is empty if the claim is nil.
func cause(claim *apiv1.NodeClaim) string {
	switch {
	case claim == nil:
		return ""
	case condition.IsTrue(claim, apiv1.ConditionTypeDisruptionReason):
		return condition.Get(claim, apiv1.ConditionTypeDisruptionReason).Reason
	}
	return forceful
}
