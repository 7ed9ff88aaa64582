package claims

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// Name returns the controller's name in logs and metrics.
	Name() string
}

// Begin returns the builder of a controller with the given number of workers and the default retry rate. It adds no watches.
func Begin(mgr ctrl.Manager, c Controller, number int) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WithOptions(controller.Options{MaxConcurrentReconciles: number, RateLimiter: workers.DefaultLimiter()})
}

// Over is like Begin, with a watch of the NodeClaims of the provider.
func Over(mgr ctrl.Manager, c Controller, facts cloud.Facts, number int) *builder.Builder {
	return Begin(mgr, c, number).For(&apiv1.NodeClaim{}, builder.WithPredicates(lookup.Managed(facts)))
}

// Complete adds the controller to the manager with which Begin was called.
func Complete(b *builder.Builder, c Controller) error {
	if err := b.Complete(c); err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Get returns the NodeClaim of a request. It returns nil if the NodeClaim does not exist or belongs to another provider.
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

// GetLive is like Get, but also returns nil if the NodeClaim is being deleted.
func GetLive(ctx context.Context, c client.Reader, facts cloud.Facts, req ctrl.Request) (*apiv1.NodeClaim, error) {
	claim, err := Get(ctx, c, facts, req)
	if claim == nil || !claim.DeletionTimestamp.IsZero() {
		return nil, err
	}
	return claim, nil
}

// The delays before the retry of a write that failed because the object was changed (ConflictRetry) or does not exist
// (GoneRetry). During the delay, the cache receives that change, which is an event of its own. So the retry is only a safeguard.
// If the watch is late, several controllers of claims may repeat their writes of one object until the change is received.
const (
	ConflictRetry = 5 * time.Second
	GoneRetry     = 10 * time.Second
)

// Result returns the result of a Reconcile that ended with err. A conflict means that the cache was out of date. It is not an
// error: the result is then a retry after ConflictRetry or GoneRetry.
func Result(result ctrl.Result, err error) (ctrl.Result, error) {
	if apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: GoneRetry}, nil
	}
	if act.Conflict(err) {
		return ctrl.Result{RequeueAfter: ConflictRetry}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return result, nil
}

// SetNodeClassLabel sets the label of the claim that names its node class. By this label the claim, and later its node, are
// recognized as managed by the provider.
func SetNodeClassLabel(claim *apiv1.NodeClaim) {
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	ref := claim.Spec.NodeClassRef
	claim.Labels[apiv1.NodeClassLabelKey(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})] = ref.Name
}
