package clusterapi

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	"github.com/karpenter-go/karpenter/api/condition"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
)

// A management cluster that does not answer for a minute makes the class not ready, with the reason in its condition. Then its
// NodePools have no instance types. When it answers again, the class is ready.
func TestOutage(t *testing.T) {
	w := newWorld(t)
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	down := false
	live := interceptor.NewClient(w.management, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if down {
				return errors.New("connection refused")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	p := New(Config{
		Client: w.kube, Reader: w.kube, Management: Management{Cached: w.management, Live: live, Kinds: versions},
		Ledger: act.Ledger{Client: w.kube}, Events: silent{}, Clock: clock,
	})
	status := p.Status()
	resolve := func() *clusterapiv1alpha1.ClusterAPINodeClass {
		t.Helper()
		if _, err := status.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}}); err != nil {
			t.Fatal(err)
		}
		var c clusterapiv1alpha1.ClusterAPINodeClass
		if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &c); err != nil {
			t.Fatal(err)
		}
		return &c
	}
	if !condition.Ready(resolve()) {
		t.Fatal("the class is not ready before the outage")
	}
	down = true
	resolve()
	clock.Step(outageGrace - time.Second)
	if !condition.Ready(resolve()) {
		t.Error("the class is not ready within the grace")
	}
	clock.Step(time.Second)
	c := resolve()
	why := condition.Get(c, clusterapiv1alpha1.ConditionTypeClusterReady)
	if condition.Ready(c) || why == nil || why.Reason != clusterapiv1alpha1.ReasonNotReachable {
		t.Errorf("after a minute without an answer the conditions are %+v", c.Status.Conditions)
	}
	var unready *cloud.NodeClassNotReadyError
	if _, err := p.InstanceTypes(t.Context(), pool()); !errors.As(err, &unready) {
		t.Errorf("instance types: %v, want a NodeClassNotReadyError", err)
	}
	down = false
	if !condition.Ready(resolve()) {
		t.Error("the class is not ready after the outage")
	}
	down = true
	if !condition.Ready(resolve()) {
		t.Error("a second outage has no grace of its own")
	}
}

// A cache that was never filled delays a read for a bounded time. The reads after it fail at once, until the pause has passed.
func TestCacheThatWasNeverFilled(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	reads := 0
	b := &boundedReader{clock: clock, reader: waiting{func(ctx context.Context) error {
		reads++
		clock.Step(cacheTime)
		<-ctx.Done()
		return ctx.Err()
	}}}
	read := func() error { return b.Get(t.Context(), client.ObjectKey{Name: "a"}, class()) }
	for range 2 {
		if err := read(); !errors.Is(err, errCacheEmpty) {
			t.Errorf("error is %v, want %v", err, errCacheEmpty)
		}
	}
	if reads != 1 {
		t.Errorf("%d reads waited, want one", reads)
	}
	clock.Step(cachePause)
	if err := read(); !errors.Is(err, errCacheEmpty) || reads != 2 {
		t.Errorf("after the pause: %v with %d reads, want another one that waits", err, reads)
	}
}

// waiting is a reader whose reads call a function.
type waiting struct{ read func(context.Context) error }

func (w waiting) Get(ctx context.Context, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return w.read(ctx)
}

func (w waiting) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	return w.read(ctx)
}
