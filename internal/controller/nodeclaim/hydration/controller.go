package hydration

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/controller/pace"
)

// conflictRetry is when a write that met somebody else's is tried again.
const conflictRetry = time.Second

// A Controller adds what claims of older versions lack.
type Controller struct {
	Client client.Client
	Cloud  cloud.Provider
	// CPUMillis is what the process may use; it decides how many claims are worked on at once.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.hydration" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		For(&apiv1.NodeClaim{}, builder.WithPredicates(lookup.Managed(c.Cloud.Facts()))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: pace.Workers(c.CPUMillis, 1000, 5000),
			RateLimiter:             pace.Default(),
		}).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Reconcile labels the claim with the name of its node class. A claim without a finalizer is new: it gets both in one
// write when its life begins, and must not be written by two at once.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &apiv1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ref := claim.Spec.NodeClassRef
	if !claim.DeletionTimestamp.IsZero() || !c.Cloud.Facts().Manages(ref) ||
		!slices.Contains(claim.Finalizers, apiv1.TerminationFinalizer) {
		return ctrl.Result{}, nil
	}
	before := claim.DeepCopy()
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	claim.Labels[apiv1.NodeClassLabelKey(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})] = ref.Name
	if err := act.Patch(ctx, c.Client, before, claim); act.Conflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}
