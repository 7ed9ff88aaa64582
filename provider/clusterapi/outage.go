package clusterapi

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/timeout"
)

// Times of an outage of the management cluster.
const (
	// outageGrace is the time for which node classes stay ready although the management cluster does not answer. After that,
	// their NodePools get no nodes, and pods go to other NodePools.
	outageGrace = time.Minute
	// probeTime bounds the read by which it is found whether the management cluster answers.
	probeTime = 10 * time.Second
	// cacheTime bounds a read from the cache. A cache that was never filled waits for the API server. cachePause is the time
	// after which the next read waits again.
	cacheTime  = 5 * time.Second
	cachePause = 5 * time.Second
)

// An outage has the time since which reads of the management cluster fail. It is only in memory, so after a restart
// the time begins again.
type outage struct {
	mu    sync.Mutex // guards since
	since time.Time  // zero if the last read succeeded
}

// note records the result of a read at now, and returns for how long reads have failed.
func (o *outage) note(err error, now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.since = time.Time{}
		return 0
	case o.since.IsZero():
		o.since = now
	}
	return now.Sub(o.since)
}

// errCacheEmpty is the error of a read while the cache was never filled.
var errCacheEmpty = errors.New("the management cluster has not answered since the start of the controller")

// A boundedReader reads from the cache of the management cluster. If the cache was never filled, a read fails after
// cacheTime. For cachePause after that, reads fail immediately. So an outage at the start delays NodePools of other
// providers by cacheTime, at most once per cachePause.
type boundedReader struct {
	reader client.Reader
	clock  clock.Clock

	mu    sync.Mutex // guards until
	until time.Time
}

var _ client.Reader = (*boundedReader)(nil)

// Get implements client.Reader.
func (b *boundedReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return b.do(ctx, func(ctx context.Context) error { return b.reader.Get(ctx, key, o, opts...) })
}

// List implements client.Reader.
func (b *boundedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return b.do(ctx, func(ctx context.Context) error { return b.reader.List(ctx, list, opts...) })
}

func (b *boundedReader) do(ctx context.Context, read func(context.Context) error) error {
	b.mu.Lock()
	until := b.until
	b.mu.Unlock()
	if b.clock.Now().Before(until) {
		return errCacheEmpty
	}
	bounded, cancel := timeout.Context(ctx, b.clock, cacheTime)
	defer cancel()
	err := read(bounded)
	if err == nil || ctx.Err() != nil || bounded.Err() == nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = b.clock.Now().Add(cachePause)
	return errCacheEmpty
}
