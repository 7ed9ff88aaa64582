package clusterapi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// A Connection has the clients and the cache of the management cluster. The cache runs as long as the manager.
type Connection struct {
	cluster cluster.Cluster
}

// Connect returns clients of the management cluster. These have a cache of their own, even if the management cluster is the
// workload cluster, because objects of Cluster API are read as unstructured objects.
func Connect(config *rest.Config) (*Connection, error) {
	c, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme = runtime.NewScheme()
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Client.Cache = &client.CacheOptions{Unstructured: false} // the client writes, and reads without the cache
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the management cluster: %w", err)
	}
	return &Connection{cluster: c}, nil
}

// Management returns the clients.
func (c *Connection) Management() Management {
	return Management{Cached: c.cluster.GetCache(), Live: c.cluster.GetClient(), Kinds: func(gk schema.GroupKind) (schema.GroupVersionKind, error) {
		mapping, err := c.cluster.GetRESTMapper().RESTMapping(gk)
		if err != nil {
			return schema.GroupVersionKind{}, fmt.Errorf("find version of %s: %w", gk, err)
		}
		return mapping.GroupVersionKind, nil
	}}
}

// Name is the name of the part in logs.
func (c *Connection) Name() string { return "management.cluster" }

// Register adds the cache to mgr.
func (c *Connection) Register(mgr ctrl.Manager) error {
	if err := mgr.Add(c.cluster); err != nil {
		return fmt.Errorf("start the cache of the management cluster: %w", err)
	}
	return nil
}
