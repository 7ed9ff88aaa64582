package learned

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Learner records the memory of nodes that have joined.
type Learner struct {
	Client client.Client
	Store  *Store
}

// Name is the controller's name.
func (*Learner) Name() string { return "providers.instancetype.capacity" }

// Reconcile records the memory of the node of one claim.
func (l *Learner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim apiv1.NodeClaim
	if err := l.Client.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !joined(&claim) {
		return ctrl.Result{}, nil
	}
	var node corev1.Node
	if err := l.Client.Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, &node); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get node %s: %w", claim.Status.NodeName, err)
	}
	l.Store.Learn(claim.Labels[corev1.LabelInstanceTypeStable], claim.Status.ImageID, node.Status.Capacity.Memory().Value())
	return ctrl.Result{}, nil
}

// joined reports whether the claim is one of AWS, is not being deleted, and has a registered node, which reports its
// capacity.
func joined(claim *apiv1.NodeClaim) bool {
	return claim.DeletionTimestamp.IsZero() && claim.Status.NodeName != "" && claim.Spec.NodeClassRef != nil &&
		claim.Spec.NodeClassRef.Group == awsv1.Group && condition.IsTrue(claim, apiv1.ConditionTypeRegistered)
}

// Register adds the controller to mgr.
func (l *Learner) Register(mgr ctrl.Manager) error {
	wanted := predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*apiv1.NodeClaim)
		return ok && joined(claim)
	})
	return ctrl.NewControllerManagedBy(mgr).Named(l.Name()).
		For(&apiv1.NodeClaim{}, builder.WithPredicates(wanted)).
		Complete(l)
}
