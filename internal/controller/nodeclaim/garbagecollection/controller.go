package garbagecollection

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/controller/internal/dismiss"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

const (
	// period is the interval between two comparisons of all claims with all instances.
	period = 2 * time.Minute
	// listingDelay is the time after its launch during which an instance may be missing in the lists of the cloud, which are
	// eventually consistent.
	listingDelay = 2 * time.Minute
)

// A Controller deletes claims whose instance no longer exists.
type Controller struct {
	Client  client.Client
	Clock   clock.Clock
	Metrics *telemetry.Metrics
	Cloud   cloud.Provider
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.garbagecollection" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(singleton.Source()).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Reconcile deletes claims whose instance no longer exists. It lists claims before instances. So an instance that is launched
// between the two calls has no claim in the list, and no listed claim lacks its instance because of it.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var claims apiv1.NodeClaimList
	if err := c.Client.List(ctx, &claims); err != nil {
		return ctrl.Result{}, fmt.Errorf("list claims: %w", err)
	}
	instances, err := c.Cloud.List(ctx)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("list instances: %w", err)
	}
	listed := make(map[string]bool, len(instances))
	for _, i := range instances {
		listed[i.ProviderID] = true
	}
	var errs []error
	for i := range claims.Items {
		if claim := &claims.Items[i]; c.expectsListed(claim) && !listed[claim.Status.ProviderID] {
			errs = append(errs, c.deleteIfGone(ctx, claim))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: period}, nil
}

// expectsListed reports whether the cloud should list the claim's instance, because it was launched at least listingDelay ago.
// Claims that are not registered are included. So an instance that was reclaimed during its boot is detected before the
// registration timeout.
func (c *Controller) expectsListed(claim *apiv1.NodeClaim) bool {
	launched := condition.Get(claim, apiv1.ConditionTypeLaunched)
	return claim.DeletionTimestamp.IsZero() && claim.Status.ProviderID != "" &&
		c.Cloud.Facts().Manages(claim.Spec.NodeClassRef) &&
		condition.IsTrue(claim, apiv1.ConditionTypeLaunched) &&
		c.Clock.Since(launched.LastTransitionTime.Time) >= listingDelay
}

// deleteIfGone deletes the claim if its instance no longer exists.
func (c *Controller) deleteIfGone(ctx context.Context, claim *apiv1.NodeClaim) error {
	if gone, err := c.instanceGone(ctx, claim); err != nil || !gone {
		return err
	}
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues(
		"NodeClaim", klog.KRef("", claim.Name), "provider-id", claim.Status.ProviderID))
	_, err := dismiss.Claim(ctx, c.Client, c.Metrics.NodeClaims, claim, string(lifecycle.DeleteGarbageCollected))
	return err
}

// instanceGone reports whether no node of the claim is ready and the cloud does not find its instance by ID.
func (c *Controller) instanceGone(ctx context.Context, claim *apiv1.NodeClaim) (bool, error) {
	nodes, err := lookup.NodesOf(ctx, c.Client, claim)
	if err != nil {
		return false, err
	}
	for _, node := range nodes {
		if model.Readiness(node) == corev1.ConditionTrue {
			return false, nil
		}
	}
	_, err = c.Cloud.Get(ctx, claim.Status.ProviderID)
	if errors.Is(err, cloud.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("get instance of claim %s: %w", claim.Name, err)
	}
	return false, nil
}
