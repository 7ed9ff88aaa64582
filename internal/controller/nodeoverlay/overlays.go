package nodeoverlay

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/overlay"
)

// Overlays applies NodeOverlays to instance types.
type Overlays struct {
	// Reader reads NodeOverlays and NodePools, from a cache.
	Reader client.Reader
	Labels apiv1.LabelRules
}

var _ cloud.Overlay = (*Overlays)(nil).Of

// Of returns types with the overlays of the named NodePool applied. For a deleted NodePool it returns types.
func (o *Overlays) Of(ctx context.Context, pool string, types []*cloud.InstanceType) ([]*cloud.InstanceType, error) {
	var object apiv1.NodePool
	if err := o.Reader.Get(ctx, client.ObjectKey{Name: pool}, &object); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return types, nil
		}
		return nil, fmt.Errorf("get pool %s: %w", pool, err)
	}
	return o.lay(ctx, &object, types)
}

func (o *Overlays) lay(
	ctx context.Context, pool *apiv1.NodePool, types []*cloud.InstanceType,
) ([]*cloud.InstanceType, error) {
	all, err := list(ctx, o.Reader)
	if err != nil {
		return nil, err
	}
	var valid []*overlayv1alpha1.NodeOverlay
	for _, overlay := range all {
		if !refused(overlay) {
			valid = append(valid, overlay)
		}
	}
	if len(valid) == 0 {
		return types, nil
	}
	r := overlay.Apply(valid, []overlay.Supply{{Pool: model.NewPool(pool, o.Labels.Aliases), Types: types}}, o.Labels)
	return r.Types[pool.Name], nil
}

// refused reports whether the overlay's validation failed, according to a condition for its current generation.
func refused(o *overlayv1alpha1.NodeOverlay) bool {
	c := condition.Get(o, overlayv1alpha1.ConditionTypeValidationSucceeded)
	return c != nil && c.Status == "False" && c.ObservedGeneration == o.Generation
}

func list(ctx context.Context, r client.Reader) ([]*overlayv1alpha1.NodeOverlay, error) {
	var overlays overlayv1alpha1.NodeOverlayList
	if err := r.List(ctx, &overlays); err != nil {
		return nil, fmt.Errorf("list nodeoverlays: %w", err)
	}
	out := make([]*overlayv1alpha1.NodeOverlay, len(overlays.Items))
	for i := range overlays.Items {
		out[i] = &overlays.Items[i]
	}
	return out, nil
}

// Provider returns a provider that applies the overlays to the instance types of next.
func (o *Overlays) Provider(next cloud.Provider) cloud.Provider {
	return &overlaid{Provider: next, overlays: o}
}

// overlaid is a provider that applies overlays.
type overlaid struct {
	cloud.Provider
	overlays *Overlays
}

// InstanceTypes implements cloud.Provider.
func (p *overlaid) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	types, err := p.Provider.InstanceTypes(ctx, pool)
	if err != nil {
		return nil, err
	}
	return p.overlays.lay(ctx, pool, types)
}
