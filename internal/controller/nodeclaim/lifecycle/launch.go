package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// reasonLaunchFailed is the reason of the condition Launched if the provider's error has none.
const reasonLaunchFailed = "LaunchFailed"

// launch calls the provider to launch an instance and reports whether the pass can continue with the next step. If the last call
// failed a short time ago, it does not.
func (p *pass) launch(ctx context.Context, a lifecycle.Launch) (again bool, err error) {
	if p.retryAfter = p.launches.recall(p.claim.Name, p.claim.UID).retryDelay(p.view.Now); p.retryAfter > 0 {
		return false, nil
	}
	instance, err := p.create(ctx, a)
	p.view.Now = p.Clock.Now()
	if err != nil {
		return p.handleLaunchError(ctx, a, err)
	}
	known, err := p.recordInstance(ctx, instance)
	if err != nil {
		return false, err
	}
	condition.SetTrue(p.claim, apiv1.ConditionTypeLaunched, p.view.Now)
	log := ctrl.LoggerFrom(ctx).WithValues(
		"provider-id", instance.ProviderID,
		"instance-type", p.claim.Labels[corev1.LabelInstanceTypeStable],
		"zone", p.claim.Labels[corev1.LabelTopologyZone],
		"capacity-type", p.claim.Labels[apiv1.CapacityTypeLabelKey],
		"allocatable", instance.Allocatable)
	if !known {
		p.reports = append(p.reports, report{apiv1.ConditionTypeLaunched, func() { log.Info("launched nodeclaim") }})
	}
	return true, p.refreshView(ctx)
}

// errNoAnswer is the cause of a launch that is cancelled at its deadline.
var errNoAnswer = errors.New("the provider has not answered within the launch timeout")

// create calls the provider's Create and cancels it at the deadline. If an earlier call for this claim has succeeded, but the
// cached claim does not show it yet, create returns the instance of that call instead.
func (p *pass) create(ctx context.Context, a lifecycle.Launch) (*cloud.Instance, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if known := p.launches.begin(p.claim.Name, p.claim.UID, func() { cancel(nil) }); known != nil {
		return known, nil
	}
	deadline := p.Clock.AfterFunc(a.Deadline.Sub(p.view.Now), func() { cancel(errNoAnswer) })
	defer deadline.Stop()
	// The provider gets a copy of the claim, because it may write its own annotations to the claim.
	instance, err := p.Cloud.Create(ctx, p.claim.DeepCopy())
	if err != nil {
		p.launches.end(p.claim.Name, p.claim.UID, nil, p.Clock.Now())
		if errors.Is(context.Cause(ctx), errNoAnswer) {
			err = fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		return nil, fmt.Errorf("launch instance: %w", err)
	}
	p.launches.end(p.claim.Name, p.claim.UID, instance, p.Clock.Now())
	return instance, nil
}

// recordInstance writes the labels and annotations of the instance to the claim, and sets the status that is written at the end of
// the pass. Annotations of the provider replace those of the claim.
//
// The patch has no optimistic lock, because the provider may have written to the claim during the launch. It only adds keys
// or replaces labels of the instance. The status is then computed from the API server's response, and written later with a
// lock. If the process ends between the two writes, the launch is repeated and returns the same instance.
//
// known is true if the claim in the API server was launched already and only the cache was out of date.
func (p *pass) recordInstance(ctx context.Context, instance *cloud.Instance) (known bool, err error) {
	before := p.claim.DeepCopy()
	p.claim.Labels = mergeLabels(p.claim.Labels, instance.Labels, p.Cloud.Facts().Labels.WellKnown)
	if p.claim.Annotations == nil {
		p.claim.Annotations = map[string]string{}
	}
	maps.Copy(p.claim.Annotations, instance.Annotations)
	if instance.NodeName != "" {
		p.claim.Annotations[apiv1.NodeNameAnnotationKey] = instance.NodeName
	}
	if err := act.Merge(ctx, p.Client, before, p.claim); err != nil {
		return false, fmt.Errorf("write labels of instance to claim %s: %w", p.claim.Name, err)
	}
	p.stored = p.claim.DeepCopy()
	known = condition.IsTrue(p.claim, apiv1.ConditionTypeLaunched)
	condition.Initialize(p.claim, p.view.Now)
	p.claim.Status.ProviderID = instance.ProviderID
	p.claim.Status.ImageID = instance.ImageID
	p.claim.Status.Capacity = instance.Capacity
	p.claim.Status.Allocatable = instance.Allocatable
	return known, nil
}

// mergeLabels returns the labels of the claim and of its instance. If both have a key, the label of the claim is used, except for
// well-known labels: after a crash, those of the claim may be of another instance.
func mergeLabels(claim, instance map[string]string, wellKnown sets.Set[string]) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, instance)
	for k, v := range claim {
		if _, both := instance[k]; !both || !wellKnown.Has(k) {
			labels[k] = v
		}
	}
	return labels
}

// handleLaunchError marks the claim for deletion if a retry cannot succeed. Otherwise it writes the error to the condition
// Launched.
func (p *pass) handleLaunchError(ctx context.Context, a lifecycle.Launch, err error) (again bool, _ error) {
	p.launchFailed = true
	var capacity *cloud.InsufficientCapacityError
	var class *cloud.NodeClassNotReadyError
	if errors.As(err, &class) {
		p.Events.Publish(telemetry.Event{
			Object: p.claim, Type: corev1.EventTypeWarning, Reason: telemetry.EventNodeClassNotReady,
			Message: "NodeClaim " + p.claim.Name + " was not launched and is deleted: " + class.Error(),
		})
	}
	switch {
	case errors.As(err, &capacity):
		if class != nil { // the provider counts a missing node class as a lack of capacity; the text must not
			p.tellNoCapacity(class)
		} else {
			p.tellNoCapacity(capacity)
		}
		ctrl.LoggerFrom(ctx).Error(err, "failed launching nodeclaim")
		p.deleteFor = lifecycle.DeleteInsufficientCapacity
		return false, nil
	case class != nil:
		ctrl.LoggerFrom(ctx).Error(err, "failed launching nodeclaim")
		p.deleteFor = lifecycle.DeleteNodeClassNotReady
		return false, nil
	}
	reason, message := reasonLaunchFailed, "Failed to "+err.Error()
	var failed *cloud.LaunchError
	if errors.As(err, &failed) {
		reason, message = failed.Reason, failed.Message
	}
	condition.SetUnknown(p.claim, apiv1.ConditionTypeLaunched, reason, telemetry.Cut(message), p.view.Now)
	p.failure = err
	// If the launch took until its deadline, the next judgement deletes the claim immediately.
	return !p.view.Now.Before(a.Deadline), nil
}

// tellNoCapacity publishes on the claim, and on the pods that were planned for it, that the claim was not launched, because of err.
func (p *pass) tellNoCapacity(err error) {
	tell := func(o runtime.Object, message string) {
		p.Events.Publish(telemetry.Event{
			Object: o, Type: corev1.EventTypeWarning, Reason: telemetry.EventInsufficientCapacityError, Message: message,
		})
	}
	tell(p.claim, "NodeClaim "+p.claim.Name+" was not launched, is deleted and its pods are planned again: "+err.Error())
	if p.Planned == nil {
		return
	}
	for _, pod := range p.Planned.PodsOf(p.claim.Name) {
		tell(pod, "NodeClaim "+p.claim.Name+" for this pod was not launched, the pod is planned again: "+err.Error())
	}
}
