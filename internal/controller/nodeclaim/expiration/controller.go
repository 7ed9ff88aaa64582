package expiration

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/controller/internal/dismiss"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/controller/pace"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Controller deletes claims at their expiry.
type Controller struct {
	Client  client.Client
	Clock   clock.Clock
	Metrics *telemetry.Metrics
	Cloud   cloud.Provider
	// CPUMillis is what the process may use; it decides how many claims are worked on at once.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.expiration" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		For(&apiv1.NodeClaim{}, builder.WithPredicates(lookup.Managed(c.Cloud.Facts()))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: pace.Workers(c.CPUMillis, 10, 100),
			RateLimiter:             pace.Default(),
		}).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Reconcile deletes the claim if its time has come, and otherwise looks again when it comes.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &apiv1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !claim.DeletionTimestamp.IsZero() || !c.Cloud.Facts().Manages(claim.Spec.NodeClassRef) {
		return ctrl.Result{}, nil
	}
	at, ok := lifecycle.Expiry(claim)
	if !ok {
		return ctrl.Result{}, nil
	}
	if left := at.Sub(c.Clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	_, err := dismiss.Claim(ctx, c.Client, c.Metrics.NodeClaims, claim, string(lifecycle.DeleteExpired))
	return ctrl.Result{}, err
}
