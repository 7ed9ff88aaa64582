package claims

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// A Controller is a reconciler with a name.
type Controller interface {
	reconcile.Reconciler
	// Name is its name in logs and metrics.
	Name() string
}

// Begin returns the builder of a controller with so many workers and the usual pace of retries. It is woken by nothing yet.
func Begin(mgr ctrl.Manager, c Controller, number int) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WithOptions(controller.Options{MaxConcurrentReconciles: number, RateLimiter: workers.DefaultLimiter()})
}

// Over is Begin for a controller that is woken by every change of one of the provider's claims.
func Over(mgr ctrl.Manager, c Controller, facts cloud.Facts, number int) *builder.Builder {
	return Begin(mgr, c, number).For(&apiv1.NodeClaim{}, builder.WithPredicates(lookup.Managed(facts)))
}

// Complete adds the controller to the manager that b was begun for.
func Complete(b *builder.Builder, c Controller) error {
	if err := b.Complete(c); err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Get returns the claim of a request. It returns nil if there is none, or if it is another provider's.
func Get(ctx context.Context, c client.Reader, facts cloud.Facts, req ctrl.Request) (*apiv1.NodeClaim, error) {
	claim := &apiv1.NodeClaim{}
	if err := c.Get(ctx, req.NamespacedName, claim); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !facts.Manages(claim.Spec.NodeClassRef) {
		return nil, nil
	}
	return claim, nil
}

// GetLive is Get for a claim that is not being deleted.
func GetLive(ctx context.Context, c client.Reader, facts cloud.Facts, req ctrl.Request) (*apiv1.NodeClaim, error) {
	claim, err := Get(ctx, c, facts, req)
	if claim == nil || !claim.DeletionTimestamp.IsZero() {
		return nil, err
	}
	return claim, nil
}

// ConflictRetry is the wait after a write that met another one, or an object that is gone: time for the cache to show it.
const ConflictRetry = time.Second

// Settle returns the result of a Reconcile that ended with err. A conflict is no error: it means that the cache was behind.
func Settle(result ctrl.Result, err error) (ctrl.Result, error) {
	if act.Conflict(err) {
		return ctrl.Result{RequeueAfter: ConflictRetry}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return result, nil
}
