package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Window defines when a bucket closes. A bucket is the list of items of one batched call. It
// closes after Idle without a new item, after Longest at the latest, or when it has Items items. It
// also closes when the context given to New is done.
type Window struct {
	Idle, Longest time.Duration
	// Items is the number of items at which a bucket closes immediately.
	Items int
}

// Result is the result of the call for one item.
type Result[O any] struct {
	Value O
	Err   error
}

// A Call makes one request for all items of a bucket. It returns one result per item, in their order.
type Call[I, O any] func(ctx context.Context, items []I) []Result[O]

// A Batcher makes one call for all items with the same key that are submitted within a Window. It is safe for
// concurrent use.
type Batcher[I, O any] struct {
	ctx    context.Context // ends all buckets; a field, because a bucket stays open after Submit returns
	clock  clock.Clock
	window Window
	call   Call[I, O]
	meter  *Meter
	name   string

	mu   sync.Mutex // guards open
	open map[string]*bucket[I, O]
}

type bucket[I, O any] struct {
	items   []I
	tickets []*Ticket[O]
	opened  time.Time
	more    chan struct{} // has one element if an item was added since the last receive
	full    chan struct{} // closed when the bucket is full
}

// A Ticket gives access to the result of one item.
type Ticket[O any] struct {
	done   chan struct{}
	result Result[O]
}

// Config has the dependencies and settings of a Batcher.
type Config[I, O any] struct {
	Name   string // value of the label in metrics
	Clock  clock.Clock
	Window Window
	Call   Call[I, O]
	Meter  *Meter
}

// New returns a Batcher. Its buckets end when ctx is done. Then the result of
// their items is the error of ctx.
func New[I, O any](ctx context.Context, c Config[I, O]) *Batcher[I, O] {
	return &Batcher[I, O]{
		ctx: ctx, clock: c.Clock, window: c.Window, call: c.Call, meter: c.Meter, name: c.Name,
		open: map[string]*bucket[I, O]{},
	}
}

// Submit adds the item to the open bucket of the key, and does not wait for the result. If there is no open bucket, it opens
// one.
func (b *Batcher[I, O]) Submit(key string, item I) *Ticket[O] {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, ok := b.open[key]
	if !ok {
		k = &bucket[I, O]{opened: b.clock.Now(), more: make(chan struct{}, 1), full: make(chan struct{})}
		b.open[key] = k
		go b.serve(key, k)
	}
	ticket := &Ticket[O]{done: make(chan struct{})}
	k.items, k.tickets = append(k.items, item), append(k.tickets, ticket)
	select {
	case k.more <- struct{}{}:
	default:
	}
	if len(k.items) >= b.window.Items {
		delete(b.open, key)
		close(k.full)
	}
	return ticket
}

// Do submits item and waits for its result.
func (b *Batcher[I, O]) Do(ctx context.Context, key string, item I) (O, error) {
	return b.Submit(key, item).Wait(ctx)
}

// Wait returns the result, or ctx's error once ctx is done. Any number of callers may wait.
func (t *Ticket[O]) Wait(ctx context.Context) (O, error) {
	select {
	case <-t.done:
		return t.result.Value, t.result.Err
	case <-ctx.Done():
		var zero O
		return zero, ctx.Err()
	}
}

// Done reports whether the result is available.
func (t *Ticket[O]) Done() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (b *Batcher[I, O]) serve(key string, k *bucket[I, O]) {
	b.wait(k)
	b.mu.Lock()
	if b.open[key] == k {
		delete(b.open, key)
	}
	items, tickets := k.items, k.tickets
	b.mu.Unlock()

	b.meter.observe(b.name, len(items), b.clock.Since(k.opened))
	results := b.run(items)
	for i, t := range tickets {
		t.result = results[i]
		close(t.done)
	}
}

// run makes the call. A panic in the call becomes the error of its items, so the process and other batches continue.
func (b *Batcher[I, O]) run(items []I) (results []Result[O]) {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("run batch %s: panic: %v", b.name, p)
			log.FromContext(b.ctx).Error(err, "batch failed", "batcher", b.name, "stack", string(debug.Stack()))
			results = fail[O](len(items), err)
		}
	}()
	if err := b.ctx.Err(); err != nil {
		return fail[O](len(items), err)
	}
	results = b.call(b.ctx, items)
	if len(results) != len(items) {
		return fail[O](len(items), errors.New("run batch: results do not match items"))
	}
	return results
}

func fail[O any](n int, err error) []Result[O] {
	results := make([]Result[O], n)
	for i := range results {
		results[i].Err = err
	}
	return results
}

// wait blocks until the bucket must be closed.
func (b *Batcher[I, O]) wait(k *bucket[I, O]) {
	longest := b.clock.NewTimer(b.window.Longest)
	defer longest.Stop()
	idle := b.clock.NewTimer(b.window.Idle)
	defer func() { idle.Stop() }()
	for {
		select {
		case <-k.more:
			idle.Stop()
			idle = b.clock.NewTimer(b.window.Idle)
		case <-idle.C():
			return
		case <-longest.C():
			return
		case <-k.full:
			return
		case <-b.ctx.Done():
			return
		}
	}
}

// A Meter measures batches. A nil Meter measures nothing.
type Meter struct {
	time *prometheus.HistogramVec
	size *prometheus.HistogramVec
}

// NewMeter registers the batch metrics with reg.
func NewMeter(reg prometheus.Registerer) *Meter {
	m := &Meter{
		time: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "karpenter_cloudprovider_batcher_batch_time_seconds",
			Help:    "Time that a batch of requests was collected before its call, in seconds.",
			Buckets: telemetry.DurationBuckets(),
		}, []string{"batcher"}),
		size: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "karpenter_cloudprovider_batcher_batch_size",
			Help:    "Requests in a batch.",
			Buckets: sizes(),
		}, []string{"batcher"}),
	}
	reg.MustRegister(m.time, m.size)
	return m
}

func (m *Meter) observe(name string, size int, open time.Duration) {
	if m == nil {
		return
	}
	m.time.WithLabelValues(name).Observe(open.Seconds())
	m.size.WithLabelValues(name).Observe(float64(size))
}

// sizes returns the bucket bounds of the histogram of batch sizes: dense below a hundred, sparse above.
func sizes() []float64 {
	bounds := []float64{1, 2, 4, 5, 10, 15, 20, 25}
	for _, step := range []struct{ from, to, by float64 }{
		{30, 100, 10}, {125, 300, 25}, {350, 600, 50}, {700, 1000, 100},
	} {
		for v := step.from; v <= step.to; v += step.by {
			bounds = append(bounds, v)
		}
	}
	return bounds
}
