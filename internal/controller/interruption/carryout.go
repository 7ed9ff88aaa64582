package interruption

import (
	"cmp"
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/interruption"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/dismiss"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/parallel"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// workers is the number of actions that are executed concurrently.
const workers = 10

// carryOutAll executes all actions and returns the notices of the failed actions.
func (c *Controller) carryOutAll(ctx context.Context, actions []interruption.Action) []cloud.Notice {
	errs := parallel.Do(ctx, len(actions), workers, func(i int) error { return c.carryOut(ctx, actions[i]) })
	var failed []cloud.Notice
	for i, err := range errs {
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "failed to follow a notice, it is handled again",
				"NodeClaim", klog.KRef("", actions[i].Claim.Name), "message-kind", actions[i].Notice.Kind)
			failed = append(failed, actions[i].Notice)
		}
	}
	return failed
}

// carryOut executes one action: it marks the offering as unavailable, publishes the event, deletes the claim, sets the deadline
// and cordons the node, each only if the action requires it. The claim is deleted before the deadline is set. Otherwise a failure in
// between would leave a claim with a deadline in the past, and a later disruption of it would not drain the node.
func (c *Controller) carryOut(ctx context.Context, a interruption.Action) error {
	if a.Unavailable != "" {
		c.Cloud.MarkUnavailable(a.Claim, a.Unavailable)
	}
	c.publish(a, a.Told)
	if !a.Delete {
		return c.setDeadline(ctx, a)
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("NodeClaim", klog.KRef("", a.Claim.Name), "provider-id", a.Claim.Status.ProviderID))
	if _, leaves := c.Decisions.Expects(a.Claim.Name); !leaves && c.Decisions != nil && a.Claim.DeletionTimestamp.IsZero() {
		c.Decisions.Begin(decisions.Removed(decisions.KindInterruption, string(a.Notice.Kind), causeOf(a), a.Claim))
	}
	deleted, err := dismiss.Claim(ctx, c.Client, c.Metrics.NodeClaims, a.Claim, string(a.Notice.Kind))
	if err != nil {
		return err
	}
	deadlineErr := c.setDeadline(ctx, a)
	if !deleted {
		return deadlineErr
	}
	c.publish(a, a.Ended)
	if a.Ended.Reason != "" {
		c.Replacements.await(a.Claim, a.Notice.Time, c.Clock.Now())
	}
	if a.Cordon {
		c.cordon(ctx, a)
	}
	return deadlineErr
}

// causeOf returns the message of the event about the notice, or the kind of the notice if there is no event.
func causeOf(a interruption.Action) string {
	return cmp.Or(a.Told.Message, "notice of the cloud: "+string(a.Notice.Kind))
}

// publish publishes the event on the claim and, if the node exists, on the node. It publishes nothing if the event has no reason.
func (c *Controller) publish(a interruption.Action, e interruption.Event) {
	if e.Reason == "" {
		return
	}
	c.Events.Publish(telemetry.Event{Object: a.Claim, Type: e.Type, Reason: e.Reason, Message: e.Message})
	if a.Node != nil {
		c.Events.Publish(telemetry.Event{Object: a.Node, Type: e.Type, Reason: e.Reason, Message: e.Message})
	}
}

// setDeadline writes the deadline of the action, if it has one, to the claim as the termination deadline of its node. At the
// deadline, the drain ends even if pods remain.
func (c *Controller) setDeadline(ctx context.Context, a interruption.Action) error {
	if a.Deadline.IsZero() {
		return nil
	}
	before := a.Claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&a.Claim.ObjectMeta, apiv1.NodeClaimTerminationTimestampAnnotationKey,
		a.Deadline.UTC().Format(time.RFC3339))
	return client.IgnoreNotFound(act.Merge(ctx, c.Client, before, a.Claim)) // a deleted claim needs no deadline
}

// cordon taints the node against new pods immediately, before the controller of nodes starts the drain. An error is only logged,
// because the drain sets the taint as well.
func (c *Controller) cordon(ctx context.Context, a interruption.Action) {
	before := a.Node.DeepCopy()
	act.Cordon(a.Node)
	if err := act.Patch(ctx, c.Client, before, a.Node); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("skipped taint, the termination controller adds it", "Node", klog.KRef("", a.Node.Name), "error", err.Error())
		return
	}
	if at := a.Notice.Time; !at.IsZero() {
		c.Metrics.Interruption.ToCordonSeconds.Observe(max(c.Clock.Now().Sub(at), 0).Seconds())
	}
}
