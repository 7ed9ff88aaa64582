package kwok

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// dueAnnotation is the annotation of a claim with the time at which its node must be created, in RFC 3339. It is set
// on claims of a class with a nodeRegistrationDelay, and on claims for whose node the write to the API server failed
// at the launch.
const dueAnnotation = kwokv1alpha1.Group + "/node-due"

// laterWorkers is the number of concurrent reconciles of Later.
const laterWorkers = 10

// A Later is the controller that creates nodes some time after their claims were launched.
type Later struct {
	provider *Provider
}

// Later returns the controller that creates the nodes of claims with a dueAnnotation at that time, and tries again if
// a write to the API server fails.
func (p *Provider) Later() *Later { return &Later{provider: p} }

// Name is the controller's name in logs and metrics.
func (l *Later) Name() string { return "nodeclaim.noderegistration" }

// Register adds the controller to mgr.
func (l *Later) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named(l.Name()).For(&apiv1.NodeClaim{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: laterWorkers}).Complete(l)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", l.Name(), err)
	}
	return nil
}

// awaits reports whether the claim's instance is launched and its node may not exist yet. It is
// false for a claim that is being deleted, and after the registration, because then the node alone
// is the instance.
func awaits(claim *apiv1.NodeClaim) bool {
	return claim.Annotations[dueAnnotation] != "" && claim.DeletionTimestamp.IsZero() && fixedFacts().Manages(claim.Spec.NodeClassRef) &&
		condition.IsTrue(claim, apiv1.ConditionTypeLaunched) && !condition.IsTrue(claim, apiv1.ConditionTypeRegistered)
}

// instanceOfClaim returns the instance of a claim whose node does not exist yet.
func instanceOfClaim(claim *apiv1.NodeClaim) *cloud.Instance {
	return &cloud.Instance{
		ProviderID: claim.Status.ProviderID, NodeName: claim.Name, Labels: claim.Labels, Created: claim.CreationTimestamp.Time,
		Capacity: claim.Status.Capacity, Allocatable: claim.Status.Allocatable,
	}
}

// Reconcile creates the claim's node if it is due. If it is due later, the claim is requeued for
// that time. If the time cannot be read, or the instance type is not available any more, Reconcile
// only logs this.
func (l *Later) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim apiv1.NodeClaim
	if err := l.provider.config.Client.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !awaits(&claim) {
		return ctrl.Result{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, claim.Annotations[dueAnnotation])
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "invalid time in annotation, no node is created", "annotation", dueAnnotation)
		return ctrl.Result{}, nil
	}
	if wait := at.Sub(l.provider.config.Clock.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	chosen, ok := l.provider.madeOf(claim.Labels)
	if !ok {
		ctrl.LoggerFrom(ctx).Info("instance type of nodeclaim is not available any more, no node is created")
		return ctrl.Result{}, nil
	}
	chosen.asked = requirementsOf(&claim)
	_, err = l.provider.make(ctx, &claim, chosen)
	return ctrl.Result{}, err
}
