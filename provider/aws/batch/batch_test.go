package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// testBatcher sends the items of each call to calls, and returns the items as results when the call is released.
type testBatcher struct {
	*Batcher[string, string]
	clock   *clocktesting.FakeClock
	calls   chan []string
	release chan struct{}
}

func newBatcher(t *testing.T, ctx context.Context) *testBatcher {
	b := &testBatcher{
		clock: clocktesting.NewFakeClock(time.Unix(0, 0)), calls: make(chan []string, 10), release: make(chan struct{}, 10),
	}
	b.Batcher = New(ctx, Config[string, string]{
		Name: "test", Clock: b.clock, Window: Window{Idle: time.Second, Longest: 3 * time.Second, Items: 4},
		Meter: NewMeter(prometheus.NewRegistry()),
		Call: func(ctx context.Context, items []string) []Result[string] {
			b.calls <- items
			select {
			case <-b.release:
			case <-ctx.Done():
				return fail[string](len(items), ctx.Err())
			}
			out := make([]Result[string], len(items))
			for i, s := range items {
				out[i].Value = s
				if s == "bad" {
					out[i].Err = errors.New("bad")
				}
			}
			return out
		},
	})
	return b
}

// step moves the clock once every bucket waits for its timers.
func (b *testBatcher) step(d time.Duration) {
	synctest.Wait()
	b.clock.Step(d)
}

func TestIdleWindowClosesABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatcher(t, t.Context())
		one, two := b.Submit("k", "a"), b.Submit("k", "b")
		b.step(time.Second)
		if got := fmt.Sprint(<-b.calls); got != "[a b]" {
			t.Errorf("the call had %s", got)
		}
		if one.Done() {
			t.Error("done before the call returned")
		}
		b.release <- struct{}{}
		first, err := one.Wait(t.Context())
		second, _ := two.Wait(t.Context())
		if first != "a" || second != "b" || err != nil || !one.Done() {
			t.Errorf("results are %q, %q, %v", first, second, err)
		}
		if n := testutil.CollectAndCount(b.meter.size); n != 1 {
			t.Errorf("%d series of batch sizes, want 1", n)
		}
	})
}

func TestFullBucketGoesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatcher(t, t.Context())
		for range 5 {
			b.Submit("k", "x")
		}
		if got := len(<-b.calls); got != 4 {
			t.Errorf("the call had %d items, want 4", got)
		}
		b.step(time.Second)
		if got := len(<-b.calls); got != 1 {
			t.Errorf("the next call had %d items, want 1", got)
		}
	})
}

func TestBucketsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatcher(t, t.Context())
		b.Submit("hangs", "a")
		b.step(time.Second)
		<-b.calls // the call is never released
		good := b.Submit("works", "b")
		b.step(time.Second)
		<-b.calls
		close(b.release)
		if got, err := good.Wait(t.Context()); got != "b" || err != nil {
			t.Errorf("result is %q, %v", got, err)
		}
	})
}

func TestErrorsAreForTheirItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBatcher(t, t.Context())
		good, bad := b.Submit("k", "a"), b.Submit("k", "bad")
		b.step(time.Second)
		b.release <- struct{}{}
		if _, err := good.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := bad.Wait(t.Context()); err == nil {
			t.Error("the bad item has no error")
		}
	})
}

func TestWaitersAndOwnersMayGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner, end := context.WithCancel(t.Context())
		b := newBatcher(t, owner)
		ticket := b.Submit("k", "a")
		waiter, leave := context.WithCancel(t.Context())
		leave()
		if _, err := ticket.Wait(waiter); !errors.Is(err, context.Canceled) {
			t.Errorf("a waiter that left got %v", err)
		}
		b.step(time.Second)
		<-b.calls
		end()
		if _, err := ticket.Wait(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("a call whose owner ended gave %v", err)
		}
		if _, err := b.Do(t.Context(), "k", "late"); !errors.Is(err, context.Canceled) {
			t.Errorf("an item after the end got %v", err)
		}
	})
}

// A panic in the call of a batch fails the items of that batch. The next batch works.
func TestPanicFailsOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktesting.NewFakeClock(time.Unix(0, 0))
		b := New(t.Context(), Config[int, int]{
			Name: "test", Clock: c, Window: Window{Idle: time.Second, Longest: time.Second, Items: 1},
			Call: func(_ context.Context, items []int) []Result[int] {
				return []Result[int]{{Value: 6 / items[0]}}
			},
		})
		if _, err := b.Do(t.Context(), "", 0); err == nil {
			t.Error("a call that panics has no error")
		}
		if got, err := b.Do(t.Context(), "", 3); got != 2 || err != nil {
			t.Errorf("after a panic: %d, %v", got, err)
		}
	})
}

// Batches are measured with the bounds of upstream: those of other durations, and sizes up to 1,000.
func TestBucketsOfMeter(t *testing.T) {
	reg := prometheus.NewRegistry()
	NewMeter(reg).observe("create_fleet", 3, time.Second)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float64{}
	for _, f := range families {
		for _, b := range f.Metric[0].Histogram.Bucket {
			got[f.GetName()] = append(got[f.GetName()], b.GetUpperBound())
		}
	}
	if times := got["karpenter_cloudprovider_batcher_batch_time_seconds"]; !slices.Equal(times, telemetry.DurationBuckets()) {
		t.Errorf("bounds of times are %v", times)
	}
	if sizes := got["karpenter_cloudprovider_batcher_batch_size"]; len(sizes) != 34 || sizes[33] != 1000 {
		t.Errorf("bounds of sizes are %v", sizes)
	}
}
