package reboot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

const (
	numWorkers = 10
	// callRetry is the delay before the cloud is called again after an error.
	callRetry = 5 * time.Second
)

// A Controller reboots nodes.
type Controller struct {
	Client  client.Client
	Clock   clock.Clock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	Cloud   cloud.Provider

	mu       sync.Mutex      // guards accepted
	accepted map[string]bool // IDs of the running reboots that the cloud has accepted
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.reboot" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	facts := c.Cloud.Facts()
	b := claims.Over(mgr, c, facts, numWorkers).Watches(&corev1.Node{}, lookup.FromNode(c.Client, facts))
	return claims.Complete(b, c)
}

// Reconcile executes the next step in the reboot of a claim's node.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, err := claims.GetLive(ctx, c.Client, c.Cloud.Facts(), req)
	switch {
	case claim == nil || err != nil:
		return ctrl.Result{}, err
	case !condition.IsTrue(claim, apiv1.ConditionTypeRebooting): // an earlier end may have been interrupted before its last write
		return claims.Result(ctrl.Result{}, act.EndReboot(ctx, c.Client, claim))
	}
	nodes, err := lookup.NodesOf(ctx, c.Client, claim)
	if err != nil {
		return ctrl.Result{}, err
	}
	v := repair.View{Now: c.Clock.Now(), Claim: claim}
	if len(nodes) == 1 {
		v.Node = nodes[0].DeepCopy()
	}
	return claims.Result(c.advance(ctx, v))
}

// advance executes the next step.
func (c *Controller) advance(ctx context.Context, v repair.View) (ctrl.Result, error) {
	var decision drain.Decision
	if v.Node != nil {
		var err error
		if decision, err = c.decideDrain(ctx, v.Node, v.Now); err != nil {
			return ctrl.Result{}, err
		}
		v.Waiting = decision.Remaining()
	}
	step := repair.Next(v)
	if v.Node != nil {
		issued := condition.Get(v.Claim, apiv1.ConditionTypeRebooting).Reason == apiv1.ReasonRebootIssued
		if err := act.Fence(ctx, c.Client, v.Node, step.Fenced, issued); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if step.Booted {
		c.publish(v.Claim, corev1.EventTypeNormal, telemetry.EventRebootObserved, "Node has booted again")
	}
	switch {
	case step.Result != repair.RebootRunning:
		return ctrl.Result{}, c.endReboot(ctx, v, step)
	case step.Issued:
		return ctrl.Result{RequeueAfter: step.Requeue}, c.noteIssued(ctx, v)
	case step.Call:
		return c.callCloud(ctx, v)
	case step.Drain:
		if err := c.evict(ctx, v.Node, decision.Evict); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: step.Requeue}, nil
}

// callCloud requests the reboot of the instance from the cloud, unless the cloud has accepted it already. Before that, it writes
// the boot ID of the node to the claim. The node has booted again when it has another boot ID.
func (c *Controller) callCloud(ctx context.Context, v repair.View) (ctrl.Result, error) {
	if err := act.NoteReboot(ctx, c.Client, v.Claim, v.Node.Status.NodeInfo.BootID, v.Now); err != nil {
		return ctrl.Result{}, err
	}
	if operation := operationID(v.Claim); !c.isAccepted(operation) {
		err := c.Cloud.Reboot(ctx, v.Claim, operation)
		var refused *cloud.RebootError
		switch {
		case errors.Is(err, cloud.ErrNotFound):
			v.Node = nil // the instance no longer exists, so the claim is deleted
			return ctrl.Result{}, c.endReboot(ctx, v, repair.Step{Result: repair.RebootProviderError, Cause: err.Error()})
		case errors.Is(err, cloud.ErrRebootNotSupported), errors.As(err, &refused):
			return ctrl.Result{}, c.endReboot(ctx, v, repair.Step{Result: repair.RebootProviderError, Cause: err.Error()})
		case err != nil:
			ctrl.LoggerFrom(ctx).Error(err, "failed to reboot instance, tried again")
			return ctrl.Result{RequeueAfter: callRetry}, nil
		}
		c.recordAccepted(operation)
	}
	return ctrl.Result{RequeueAfter: time.Millisecond}, c.noteIssued(ctx, v)
}

// operationID returns the ID of a reboot for the cloud. Repeated calls for the same reboot have the same ID.
func operationID(claim *apiv1.NodeClaim) string {
	requested := condition.Get(claim, apiv1.ConditionTypeRebooting).LastTransitionTime
	return fmt.Sprintf("%s-%d-%s", claim.UID, requested.UnixNano(), claim.Annotations[apiv1.RebootPreBootIDAnnotationKey])
}

func (c *Controller) isAccepted(operation string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accepted[operation]
}

func (c *Controller) recordAccepted(operation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.accepted == nil {
		c.accepted = map[string]bool{}
	}
	c.accepted[operation] = true
}

// noteIssued writes to the claim that the cloud has accepted the reboot. It sets Initialized to Unknown. Package lifecycle
// initializes the claim again after the reboot.
func (c *Controller) noteIssued(ctx context.Context, v repair.View) error {
	before := v.Claim.DeepCopy()
	message := condition.Get(v.Claim, apiv1.ConditionTypeRebooting).Message
	condition.SetTrueWithReason(v.Claim, apiv1.ConditionTypeRebooting, apiv1.ReasonRebootIssued, message, v.Now)
	condition.SetUnknown(v.Claim, apiv1.ConditionTypeInitialized, apiv1.ReasonRebooting, message, v.Now)
	return act.PatchStatus(ctx, c.Client, before, v.Claim)
}

// endReboot writes the result of the reboot to the claim. Then it removes the annotations of the reboot: without the boot ID, a
// repetition of endReboot could not tell whether the node has booted. If the node no longer exists, endReboot deletes the claim
// instead.
func (c *Controller) endReboot(ctx context.Context, v repair.View, step repair.Step) error {
	requested := condition.Get(v.Claim, apiv1.ConditionTypeRebooting).LastTransitionTime
	issued, operation := repair.IssuedAt(v.Claim), operationID(v.Claim)
	var err error
	if v.Node == nil {
		err = c.deleteClaim(ctx, v)
	} else {
		err = c.writeResult(ctx, v, step)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	delete(c.accepted, operation)
	c.mu.Unlock()
	c.tellResult(ctx, v, step, v.Now.Sub(requested.Time))
	if step.Result == repair.RebootSucceeded {
		c.Metrics.Nodes.RebootRecoveryDurationSeconds.Observe(v.Now.Sub(issued).Seconds())
	}
	if v.Node == nil {
		return nil
	}
	return act.EndReboot(ctx, c.Client, v.Claim)
}

// writeResult removes the taint of the reboot from the node and writes the result to the status of the claim.
func (c *Controller) writeResult(ctx context.Context, v repair.View, step repair.Step) error {
	if err := act.Fence(ctx, c.Client, v.Node, false, false); err != nil {
		return err
	}
	before := v.Claim.DeepCopy()
	reason := apiv1.ReasonRebootFailed
	if step.Result == repair.RebootSucceeded {
		reason = apiv1.ReasonRebootSucceeded
	}
	condition.SetFalse(v.Claim, apiv1.ConditionTypeRebooting, reason, step.Cause, v.Now)
	condition.Clear(v.Claim, apiv1.ConditionTypeDisruptionReason)
	return act.PatchStatus(ctx, c.Client, before, v.Claim)
}

// deleteClaim deletes the claim of a node that no longer exists. Then it bounds the drain, in case the node appears again. The
// claim still has the condition Rebooting, so a deletion that failed is repeated.
func (c *Controller) deleteClaim(ctx context.Context, v repair.View) error {
	if deleted, err := act.DeleteClaim(ctx, c.Client, v.Claim); err != nil || !deleted {
		return err
	}
	bound, bounded, err := repair.RebootBound(v.Claim)
	if !bounded || err != nil {
		return nil // without a bound, and with an invalid one, the drain has no deadline
	}
	before := v.Claim.DeepCopy()
	act.Tighten(v.Claim, v.Now.Add(bound))
	if err := client.IgnoreNotFound(act.Merge(ctx, c.Client, before, v.Claim)); err != nil {
		// Without a node there is nothing to drain, so the reboot ends nevertheless.
		ctrl.LoggerFrom(ctx).V(1).Info("failed to bound the drain of a deleted NodeClaim", "error", err.Error())
	}
	return nil
}

// tellResult reports the result of the reboot by metrics, events and logs.
func (c *Controller) tellResult(ctx context.Context, v repair.View, step repair.Step, took time.Duration) {
	c.Metrics.Nodes.RebootsTotal.WithLabelValues(string(step.Result)).Inc()
	c.Metrics.Nodes.RebootDurationSeconds.WithLabelValues(string(step.Result)).Observe(took.Seconds())
	log := ctrl.LoggerFrom(ctx).WithValues("NodeClaim", klog.KRef("", v.Claim.Name), "reason", step.Result)
	log.Info("reboot reached terminal outcome")
	if step.Result != repair.RebootSucceeded {
		log.Info("reboot failed, replacing node", "result", step.Result, "cause", step.Cause)
		c.publish(v.Claim, corev1.EventTypeWarning, telemetry.EventRebootFailed, "Reboot failed: "+step.Cause)
	}
}

// publish publishes an event on the claim. Equal reasons for one reboot are published only once within the time of
// Reason.Dedupe.
func (c *Controller) publish(claim *apiv1.NodeClaim, kind, reason, message string) {
	at := condition.Get(claim, apiv1.ConditionTypeRebooting).LastTransitionTime
	c.Events.Publish(telemetry.Event{
		Object: claim, Type: kind, Reason: reason, Message: message,
		Dedupe: []string{string(claim.UID), at.UTC().Format(time.RFC3339)},
	})
}
