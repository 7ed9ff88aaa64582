package nodeoverlay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/overlay"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/singleton"
)

// A Controller writes to the status of every NodeOverlay whether it is applied.
type Controller struct {
	Client client.Client
	Clock  clock.PassiveClock
	// Cloud is the provider whose instance types have no overlays applied yet.
	Cloud  cloud.Provider
	Labels apiv1.LabelRules
}

const (
	// period is the interval at which overlays are validated against the instance types, because these change without an event.
	period = 5 * time.Minute
	// retry is the delay until the next reconcile if the instance types of a NodePool cannot be listed.
	retry = 10 * time.Second
)

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeoverlay.controller" }

// Register adds the controller to mgr. Only changes of a spec trigger it. The status changes often, also by this controller.
func (c *Controller) Register(mgr ctrl.Manager) error {
	ofSpec := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(singleton.Source()).
		Watches(&overlayv1alpha1.NodeOverlay{}, singleton.Handler(), ofSpec).
		Watches(&apiv1.NodePool{}, singleton.Handler(), ofSpec).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Reconcile validates all overlays together.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	overlays, err := list(ctx, c.Client)
	if err != nil || len(overlays) == 0 {
		return ctrl.Result{}, err
	}
	supplies, whole, err := c.supplies(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	findings := overlay.Apply(overlays, supplies, c.Labels).Findings
	var errs []error
	for _, o := range overlays {
		if o.DeletionTimestamp.IsZero() {
			errs = append(errs, c.tell(ctx, o, findings[o.Name]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	if !whole {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	return ctrl.Result{RequeueAfter: period}, nil
}

// supplies returns the instance types of the provider's NodePools that are not being deleted. whole is false if those of
// some NodePool could not be listed.
func (c *Controller) supplies(ctx context.Context) (out []overlay.Supply, whole bool, err error) {
	var pools apiv1.NodePoolList
	if err := c.Client.List(ctx, &pools); err != nil {
		return nil, false, fmt.Errorf("list pools: %w", err)
	}
	whole = true
	for i := range pools.Items {
		pool := &pools.Items[i]
		if !pool.DeletionTimestamp.IsZero() || !c.Cloud.Facts().Manages(pool.Spec.Template.Spec.NodeClassRef) {
			continue
		}
		types, err := c.Cloud.InstanceTypes(ctx, pool)
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("skipping NodePool: instance types unavailable", "NodePool", klog.KRef("", pool.Name), "error", err.Error())
			whole = false
			continue
		}
		out = append(out, overlay.Supply{Pool: model.NewPool(pool, c.Labels.Aliases), Types: types})
	}
	return out, whole, nil
}

// tell writes the result of the validation to the overlay's status. It ignores a conflict, because the conflicting change of the
// overlay triggers another Reconcile.
func (c *Controller) tell(ctx context.Context, o *overlayv1alpha1.NodeOverlay, f *overlay.Finding) error {
	before, now := o.DeepCopy(), c.Clock.Now()
	after := o.DeepCopy()
	if f == nil {
		condition.SetTrue(after, overlayv1alpha1.ConditionTypeValidationSucceeded, now)
	} else {
		condition.SetFalse(after, overlayv1alpha1.ConditionTypeValidationSucceeded, f.Reason, f.Message, now)
	}
	if err := act.PatchStatus(ctx, c.Client, before, after); err != nil && !act.Conflict(err) {
		return err
	}
	return nil
}
