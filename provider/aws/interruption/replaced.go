package interruption

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Replacements watches claims being launched, for the time that replacements take.
type Replacements struct {
	Client client.Client
	Meter  *Meter
}

// Name is the controller's name.
func (*Replacements) Name() string { return "interruption.replacement" }

// Reconcile tells the meter of a claim that is launched.
func (r *Replacements) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var claim apiv1.NodeClaim
	if err := r.Client.Get(ctx, req.NamespacedName, &claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if c := condition.Get(&claim, apiv1.ConditionTypeLaunched); condition.IsTrue(&claim, apiv1.ConditionTypeLaunched) {
		r.Meter.launched(&claim, c.LastTransitionTime.Time)
	}
	return ctrl.Result{}, nil
}

// Register adds the controller to mgr.
func (r *Replacements) Register(mgr ctrl.Manager) error {
	launched := predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*apiv1.NodeClaim)
		return ok && condition.IsTrue(claim, apiv1.ConditionTypeLaunched) && !condition.IsTrue(claim, apiv1.ConditionTypeRegistered)
	})
	return ctrl.NewControllerManagedBy(mgr).Named(r.Name()).
		For(&apiv1.NodeClaim{}, builder.WithPredicates(launched)).
		Complete(r)
}
