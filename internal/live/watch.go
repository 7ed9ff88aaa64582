package live

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/internal/observe"
)

// A Watched is a cluster that is watched. After the first lists, only changes are transferred.
type Watched struct {
	cache cache.Cache
	seen  *observe.Cluster
	// optional are the served kinds among those that a cluster may lack.
	optional []client.ObjectList
}

// Watch watches the kinds that Read lists, until ctx ends. It returns after the first list of each kind.
func Watch(ctx context.Context, config *rest.Config, c clock.Clock) (*Watched, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	objects, err := cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", config.Host, err)
	}
	w := &Watched{cache: objects, seen: observe.New(c).From(empty())}
	if err := w.seen.Watch(ctx, objects); err != nil {
		return nil, err
	}
	for o, list := range map[client.Object]client.ObjectList{
		&awsv1.EC2NodeClass{}: &awsv1.EC2NodeClassList{}, &overlayv1alpha1.NodeOverlay{}: &overlayv1alpha1.NodeOverlayList{},
	} {
		if _, err := objects.GetInformer(ctx, o); err != nil {
			if meta.IsNoMatchError(err) {
				continue
			}
			return nil, fmt.Errorf("watch objects of kind %s: %w", api.Kind(o), err)
		}
		w.optional = append(w.optional, list)
	}
	go func() { _ = objects.Start(ctx) }() // it returns an error only after the end of ctx
	if !objects.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("watch %s: %w", config.Host, context.Cause(ctx))
	}
	for !w.seen.Synced() {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("watch %s: %w", config.Host, context.Cause(ctx))
		case <-c.After(observe.SyncPoll):
		}
	}
	return w, nil
}

// Now returns the current state of the watched cluster.
func (w *Watched) Now(ctx context.Context) (*Cluster, error) {
	out := &Cluster{}
	var pools apiv1.NodePoolList
	var nodes corev1.NodeList
	for _, list := range slices.Concat([]client.ObjectList{&pools, &nodes}, w.optional) {
		if err := w.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list objects of kind %s: %w", api.Kind(list), err)
		}
	}
	for i := range pools.Items {
		out.keep(&pools.Items[i])
	}
	for i := range nodes.Items {
		out.keep(&nodes.Items[i])
	}
	for _, list := range w.optional {
		switch l := list.(type) {
		case *awsv1.EC2NodeClassList:
			out.Classes = each(l.Items)
		case *overlayv1alpha1.NodeOverlayList:
			out.Overlays = each(l.Items)
		}
	}
	out.Snapshot = w.seen.Snapshot()
	return out, nil
}
