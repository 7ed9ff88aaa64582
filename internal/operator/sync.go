package operator

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// endable is a cache. Its wait for the first lists of all informers ends with the process.
//
// The manager waits for its caches before it stops. If the API server does not answer, that is for ever, and the manager
// computes without a pause: https://github.com/kubernetes-sigs/controller-runtime/pull/3440.
type endable struct {
	cache.Cache
	process context.Context
}

// newCache returns the constructor of caches of a process, which ends when ctx is done.
func newCache(ctx context.Context) cache.NewCacheFunc {
	return func(config *rest.Config, o cache.Options) (cache.Cache, error) {
		c, err := cache.New(config, o)
		return endable{c, ctx}, err
	}
}

// WaitForCacheSync implements cache.Informers. It also returns true if the process is to end, so that the manager stops.
func (e endable) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.process, cancel)()
	return e.Cache.WaitForCacheSync(ctx) || e.process.Err() != nil
}
