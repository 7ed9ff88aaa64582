package disruptionstatus

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// Register adds the controller to mgr. It is triggered by claims, by pools whose spec or annotations change, and by node
// classes, including their status.
func (c *Controller) Register(mgr ctrl.Manager) error {
	facts := c.Cloud.Facts()
	b := claims.Over(mgr, c, facts, workers.Number(c.CPUMillis, 10, 1000)).
		Watches(&apiv1.NodePool{}, handler.EnqueueRequestsFromMapFunc(c.fromPool), builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})))
	for _, kind := range facts.NodeClasses {
		class, err := classOf(mgr.GetScheme(), kind)
		if err != nil {
			return fmt.Errorf("watch node classes of kind %s: %w", kind.Kind, err)
		}
		b = b.Watches(class, handler.EnqueueRequestsFromMapFunc(c.fromClass(kind.Group, kind.Kind)))
	}
	return claims.Complete(b, c)
}

// classOf returns an empty node class of the kind. Kinds of providers in other processes have no Go type.
func classOf(s *runtime.Scheme, kind schema.GroupVersionKind) (client.Object, error) {
	if !s.Recognizes(kind) {
		class := &unstructured.Unstructured{}
		class.SetGroupVersionKind(kind)
		return class, nil
	}
	o, err := s.New(kind)
	if err != nil {
		return nil, err
	}
	class, ok := o.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is no API object", api.Kind(o))
	}
	return class, nil
}

// fromPool maps a pool to its claims.
func (c *Controller) fromPool(ctx context.Context, pool client.Object) []ctrl.Request {
	return c.requests(ctx, client.MatchingLabels{apiv1.NodePoolLabelKey: pool.GetName()}, func(*apiv1.NodeClaim) bool {
		return true
	})
}

// fromClass maps a node class of this kind to the claims that refer to it.
func (c *Controller) fromClass(group, kind string) handler.MapFunc {
	return func(ctx context.Context, class client.Object) []ctrl.Request {
		return c.requests(ctx, client.MatchingFields{lookup.IndexClaimNodeClass: class.GetName()},
			func(claim *apiv1.NodeClaim) bool {
				ref := claim.Spec.NodeClassRef
				return ref != nil && ref.Group == group && ref.Kind == kind
			})
	}
}

// requests returns a request for each selected claim. It returns none if listing fails, because every claim is reconciled
// periodically.
func (c *Controller) requests(
	ctx context.Context, selected client.ListOption, keep func(*apiv1.NodeClaim) bool,
) []ctrl.Request {
	var list apiv1.NodeClaimList
	if err := c.Client.List(ctx, &list, selected); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to list NodeClaims")
		return nil
	}
	var kept []*apiv1.NodeClaim
	for i := range list.Items {
		if keep(&list.Items[i]) {
			kept = append(kept, &list.Items[i])
		}
	}
	return lookup.Requests(kept, c.Cloud.Facts())
}
