package observe

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Watch applies the events of the informers to c.
func (c *Cluster) Watch(ctx context.Context, informers cache.Informers) error {
	for _, kind := range []client.Object{
		&corev1.Pod{}, &corev1.Node{}, &apiv1.NodeClaim{}, &apiv1.NodePool{}, &appsv1.DaemonSet{},
		&corev1.Namespace{}, &policyv1.PodDisruptionBudget{}, &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{},
		&storagev1.StorageClass{}, &storagev1.CSINode{},
	} {
		informer, err := informers.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watch objects of kind %s: %w", api.Kind(kind), err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { c.take(o, c.Set) },
			UpdateFunc: func(old, o any) { c.replace(old, o) },
			DeleteFunc: func(o any) { c.take(o, c.Remove) },
		})
		if err != nil {
			return fmt.Errorf("watch objects of kind %s: %w", api.Kind(kind), err)
		}
		c.mu.Lock()
		c.synced = append(c.synced, registration.HasSynced)
		c.mu.Unlock()
	}
	return nil
}

// replace applies an update. After a relist, old and o may be different objects with the same name.
func (c *Cluster) replace(old, o any) {
	before, ok := old.(client.Object)
	if after, isObject := o.(client.Object); ok && isObject {
		c.Replace(before, after)
	}
}

// take calls f with the object of an informer event.
func (c *Cluster) take(o any, f func(client.Object)) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if object, ok := o.(client.Object); ok {
		f(object)
	}
}

// SyncPoll is the interval at which a controller checks whether the cluster is Synced.
const SyncPoll = 100 * time.Millisecond

// Synced reports whether all objects of the initial lists are applied. It is called after Watch. Until then, a Snapshot has
// only a part of the cluster, and no decision may use it.
func (c *Cluster) Synced() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, done := range c.synced {
		if !done() {
			return false
		}
	}
	return true
}
