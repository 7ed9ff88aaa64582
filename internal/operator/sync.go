package operator

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// endable is a cache whose wait for the first lists of all informers ends when the process is to end.
//
// The manager waits for its caches before it stops. Without this type, it would wait for ever if the API server does not
// answer, and use a whole core meanwhile: https://github.com/kubernetes-sigs/controller-runtime/pull/3440.
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
