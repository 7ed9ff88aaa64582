package nodepool

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// The bounds of the number of workers of the controllers in this package.
const (
	minWorkers = 10
	maxWorkers = 1000
)

// overPools returns the builder of a controller that is triggered by every change of a NodePool.
func overPools(mgr ctrl.Manager, name string, number int) *builder.Builder {
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&apiv1.NodePool{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: number, RateLimiter: workers.DefaultLimiter()})
}

// get reads the NodePool of a request. It returns nil if it does not exist or is being deleted, or if its node class
// belongs to another provider.
func get(ctx context.Context, c client.Client, facts cloud.Facts, req ctrl.Request) (*apiv1.NodePool, error) {
	pool := &apiv1.NodePool{}
	if err := c.Get(ctx, req.NamespacedName, pool); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get pool %s: %w", req.Name, err)
	}
	if pool.DeletionTimestamp != nil || !facts.Manages(pool.Spec.Template.Spec.NodeClassRef) {
		return nil, nil
	}
	return pool, nil
}

// written returns the result of a Reconcile whose last write returned err. A conflict is no error. It causes a retry with the delay of the
// rate limiter, because further writes conflict too until the watch delivers the conflicting change. A deleted NodePool is no error.
func written(err error) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		//lint:ignore SA1019 RequeueAfter has a fixed delay, and there is no other way to a growing one without an error
		return ctrl.Result{Requeue: true}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}

// writeStatus calls change with the NodePool and writes its status if change has changed it. After a conflict it repeats both with the
// NodePool read from live. So a status is written although the cache is late, and the NodePool is not written again and again until the
// cache has caught up. change must read everything that depends on the NodePool's spec itself.
func writeStatus(
	ctx context.Context, c client.Client, live client.Reader, pool *apiv1.NodePool, change func(*apiv1.NodePool) error,
) (ctrl.Result, error) {
	if live == nil {
		live = c
	}
	_, err := act.Again(ctx, live, pool, func(before *apiv1.NodePool) (*apiv1.NodePool, error) {
		next := before.DeepCopy()
		if err := change(next); err != nil {
			return before, err
		}
		return next, act.PatchStatus(ctx, c, before, next)
	})
	return written(err)
}

// newClass returns an empty object of the node class kind in ref.
func newClass(s *runtime.Scheme, facts cloud.Facts, ref *apiv1.NodeClassReference) (classObject, error) {
	for _, gvk := range facts.NodeClasses {
		if gvk.Group == ref.Group && gvk.Kind == ref.Kind {
			return newObject(s, gvk)
		}
	}
	return nil, fmt.Errorf("no node class of kind %s in group %s", ref.Kind, ref.Group)
}

// A classObject is a node class of any provider.
type classObject interface {
	client.Object
	condition.Object
}

func newObject(s *runtime.Scheme, gvk schema.GroupVersionKind) (classObject, error) {
	if !s.Recognizes(gvk) {
		return untyped(gvk), nil
	}
	o, err := s.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", gvk.Kind, err)
	}
	class, ok := o.(classObject)
	if !ok {
		return nil, fmt.Errorf("kind %s has no status conditions", gvk.Kind)
	}
	return class, nil
}

// untyped returns an empty node class of a kind without a Go type. Such kinds belong to providers in other processes.
func untyped(gvk schema.GroupVersionKind) classObject {
	class := condition.OfUnstructured(&unstructured.Unstructured{})
	class.SetGroupVersionKind(gvk)
	return class
}

// readable returns the object that a client can read into.
func readable(class classObject) client.Object {
	if u, ok := class.(condition.Unstructured); ok {
		return u.Unstructured
	}
	return class
}

// watchClasses adds watches of all node class kinds of the provider. A change of a node class triggers the NodePools
// that refer to it.
func watchClasses(b *builder.Builder, mgr ctrl.Manager, facts cloud.Facts) error {
	for _, gvk := range facts.NodeClasses {
		class, err := newObject(mgr.GetScheme(), gvk)
		if err != nil {
			return fmt.Errorf("watch node classes: %w", err)
		}
		b.Watches(readable(class), handler.EnqueueRequestsFromMapFunc(poolsOfClass(mgr.GetClient(), gvk)))
	}
	return nil
}

// poolsOfClass maps a node class of the kind to the NodePools that refer to it. It lists all NodePools, because there are few.
func poolsOfClass(c client.Client, gvk schema.GroupVersionKind) handler.MapFunc {
	return func(ctx context.Context, class client.Object) []reconcile.Request {
		var pools apiv1.NodePoolList
		if err := c.List(ctx, &pools); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "failed to list NodePools of node class", gvk.Kind, klog.KRef("", class.GetName()))
			return nil
		}
		var requests []reconcile.Request
		for i := range pools.Items {
			ref := pools.Items[i].Spec.Template.Spec.NodeClassRef
			if ref != nil && ref.Group == gvk.Group && ref.Kind == gvk.Kind && ref.Name == class.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pools.Items[i])})
			}
		}
		return requests
	}
}
