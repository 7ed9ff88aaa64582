package termination

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// volumesDone reports whether no volume must still be detached, and sets the claim's condition VolumesDetached.
func (c *Controller) volumesDone(d *departure, decision *drain.Decision) bool {
	if !decision.Detached() {
		c.Events.Publish(telemetry.Event{
			Object: d.node, Type: corev1.EventTypeNormal, Reason: telemetry.EventAwaitingVolumeDetachment,
			Message: "Waiting for detachment of PersistentVolumes " + strings.Join(decision.Detaching, ", "),
		})
	}
	if d.claim == nil {
		return decision.Detached()
	}
	switch {
	case !decision.Detached():
		condition.SetUnknown(d.claim, apiv1.ConditionTypeVolumesDetached, apiv1.ReasonAwaitingVolumeDetachment,
			"Waiting for detachment of PersistentVolumes "+strings.Join(decision.Detaching, ", "), d.now)
	case len(decision.Abandoned) > 0:
		condition.SetFalse(d.claim, apiv1.ConditionTypeVolumesDetached, apiv1.ReasonTerminationGracePeriodElapsed,
			"Not detached before the termination deadline: "+strings.Join(decision.Abandoned, ", "), d.now)
	default:
		condition.SetTrue(d.claim, apiv1.ConditionTypeVolumesDetached, d.now)
	}
	return decision.Detached()
}

// drained reports whether the claim's condition Drained is true.
func drained(claim *apiv1.NodeClaim) bool {
	return claim != nil && condition.IsTrue(claim, apiv1.ConditionTypeDrained)
}

// ending reports whether the cloud has accepted the request to terminate the claim's instance.
func ending(claim *apiv1.NodeClaim) bool {
	return claim != nil && condition.IsTrue(claim, apiv1.ConditionTypeInstanceTerminating)
}

// endInstance requests the termination of the instance. It is called again until the instance no longer exists. A node without a
// provider ID has no instance.
func (c *Controller) endInstance(ctx context.Context, d *departure) (outcome, error) {
	if d.node.Spec.ProviderID == "" {
		return outcome{gone: true}, nil
	}
	claim, since := d.claim, d.node.DeletionTimestamp.Time
	if claim == nil {
		// Without a claim, no other controller terminates the instance. The provider ID is enough to terminate it here.
		claim = &apiv1.NodeClaim{}
		claim.Name, claim.Labels = d.node.Name, d.node.Labels
		claim.Status.ProviderID = d.node.Spec.ProviderID
	}
	err := c.Cloud.Delete(ctx, claim)
	gone := errors.Is(err, cloud.ErrNotFound)
	if err != nil && !gone {
		c.tellFailed(d, err)
		return outcome{}, fmt.Errorf("end the instance of node %s: %w", d.node.Name, err)
	}
	if d.claim != nil {
		// The condition is also set for an instance that no longer exists. Otherwise the claim would count against
		// disruption budgets while the finalizer of another component keeps the Node.
		condition.SetTrue(d.claim, apiv1.ConditionTypeInstanceTerminating, d.now)
		since = condition.Get(d.claim, apiv1.ConditionTypeInstanceTerminating).LastTransitionTime.Time
	}
	return outcome{gone: gone, after: endingPoll(d.now.Sub(since))}, nil
}

// tellFailed publishes on the node and its claim that the cloud did not terminate the instance.
func (c *Controller) tellFailed(d *departure, err error) {
	e := telemetry.Event{
		Object: d.node, Type: corev1.EventTypeWarning, Reason: telemetry.EventFailedTermination,
		Message: "Instance could not be terminated, the call is repeated: " + err.Error(),
	}
	c.Events.Publish(e)
	if d.claim != nil {
		e.Object = d.claim
		c.Events.Publish(e)
	}
}

// endingPoll returns the delay until the next check of the instance: half the time since the request. So the delay is at most a
// third of the total time, apart from the bounds. The bounds limit the load of the cloud's API.
func endingPoll(taken time.Duration) time.Duration {
	return min(max(taken/2, endingPollMin), endingPollMax)
}

// listed is the age of a node from which the cloud knows its instance. Before that, the cloud may return that the instance does not exist,
// because its API is eventually consistent.
const listed = 2 * time.Minute

// instanceGone reports whether the instance of the node no longer exists in the cloud. It returns false if the cloud returns
// another error, or if the node is younger than listed. Then the node is drained like any other.
func (c *Controller) instanceGone(ctx context.Context, node *corev1.Node) bool {
	if node.Spec.ProviderID == "" || c.Clock.Since(node.CreationTimestamp.Time) < listed {
		return false
	}
	_, err := c.Cloud.Get(ctx, node.Spec.ProviderID)
	if err != nil && !errors.Is(err, cloud.ErrNotFound) {
		ctrl.LoggerFrom(ctx).Error(err, "failed to check whether the instance of a node that is not ready exists, the node is drained")
		return false
	}
	return err != nil
}

// conclude removes the finalizer of a node whose instance no longer exists, and sets the claim's condition InstanceTerminating.
func (c *Controller) conclude(ctx context.Context, node *corev1.Node, claim *apiv1.NodeClaim) error {
	if claim != nil {
		before := claim.DeepCopy()
		condition.SetTrue(claim, apiv1.ConditionTypeInstanceTerminating, c.Clock.Now())
		if err := c.saveConditions(ctx, before, claim); err != nil {
			return err
		}
	}
	return c.release(ctx, node)
}

// release removes the finalizer of the node, forgets its evictions and writes the metrics of its termination.
func (c *Controller) release(ctx context.Context, node *corev1.Node) error {
	before := node
	_, err := act.AgainDeleting(ctx, c.live(), node, func(stored *corev1.Node) (*corev1.Node, error) {
		next := stored.DeepCopy()
		controllerutil.RemoveFinalizer(next, apiv1.TerminationFinalizer)
		return next, act.Patch(ctx, c.Client, stored, next)
	})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	c.attempts.forget(before.UID)
	pool, now := before.Labels[apiv1.NodePoolLabelKey], c.Clock.Now()
	m := c.Metrics.Nodes
	m.TerminatedTotal.WithLabelValues(pool, before.Labels[corev1.LabelTopologyZone]).Inc()
	m.TerminationDurationSeconds.WithLabelValues(pool).Observe(now.Sub(before.DeletionTimestamp.Time).Seconds())
	m.LifetimeDurationSeconds.WithLabelValues(pool).Observe(now.Sub(before.CreationTimestamp.Time).Seconds())
	ctrl.LoggerFrom(ctx).Info("deleted node")
	return nil
}
