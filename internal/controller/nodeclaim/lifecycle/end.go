package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// setDeadline writes the end of the termination grace period to an annotation of the claim. Package termination reads it.
func (p *pass) setDeadline(ctx context.Context, a lifecycle.SetDeadline) error {
	return p.patchClaim(ctx, func(claim *apiv1.NodeClaim) {
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] = a.At.UTC().Format(time.RFC3339)
	})
}

// deleteNodes deletes those nodes of the claim that the action names.
func (p *pass) deleteNodes(ctx context.Context, a lifecycle.DeleteNodes) error {
	var errs []error
	for _, node := range p.view.Nodes {
		if !slices.Contains(a.Names, node.Name) {
			continue
		}
		if _, err := act.DeleteNode(ctx, p.Client, node); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// endInstance requests the termination of the instance and reports whether it no longer exists.
func (p *pass) endInstance(ctx context.Context) (gone bool, err error) {
	err = p.Cloud.Delete(ctx, p.claim.DeepCopy())
	if errors.Is(err, cloud.ErrNotFound) {
		p.view.InstanceGone = true
		return true, nil
	}
	if err != nil {
		p.Events.Publish(telemetry.Event{
			Object: p.claim, Type: corev1.EventTypeWarning, Reason: telemetry.EventFailedTermination,
			Message: "Instance could not be terminated, the call is repeated: " + err.Error(),
		})
		return false, fmt.Errorf("end instance: %w", err)
	}
	return false, nil
}

// release removes the finalizer. It writes no status, because the claim does not exist afterwards, unless it has another
// finalizer.
func (p *pass) release(ctx context.Context) error {
	before := p.stored.DeepCopy()
	claim := p.stored
	claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == apiv1.TerminationFinalizer })
	if err := act.Patch(ctx, p.Client, before, claim); client.IgnoreNotFound(err) != nil {
		return err
	}
	p.released = true
	p.tellReleased(ctx, before)
	return nil
}

// tellReleased updates the metrics for a claim whose finalizer was removed.
func (p *pass) tellReleased(ctx context.Context, claim *apiv1.NodeClaim) {
	pool, now := claim.Labels[apiv1.NodePoolLabelKey], p.Clock.Now()
	m := p.Metrics.NodeClaims
	if c := condition.Get(claim, apiv1.ConditionTypeInstanceTerminating); c != nil {
		m.InstanceTerminationDurationSeconds.WithLabelValues(pool).Observe(now.Sub(c.LastTransitionTime.Time).Seconds())
	}
	m.TerminationDurationSeconds.WithLabelValues(pool).Observe(now.Sub(claim.DeletionTimestamp.Time).Seconds())
	m.TerminatedTotal.WithLabelValues(
		pool, claim.Labels[apiv1.CapacityTypeLabelKey], claim.Labels[corev1.LabelTopologyZone]).Inc()
	ctrl.LoggerFrom(ctx).Info("deleted nodeclaim", "provider-id", claim.Status.ProviderID)
}
