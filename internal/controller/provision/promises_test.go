package provision

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/karpenter-go/karpenter/internal/observe"
)

func (w *world) replanned() float64 {
	return testutil.ToFloat64(w.Metrics.Scheduler.ReplannedPodsTotal.WithLabelValues(w.Name()))
}

// nominate shows pods that are nominated to node.
func (w *world) nominate(node string) {
	for _, p := range w.Cluster.Snapshot().Pending() {
		o := p.Object.DeepCopy()
		o.Status.NominatedNodeName = node
		w.Cluster.Set(o)
	}
}

// Pods that carry the name of a node on its way are not launched for again, by a controller that has just started either.
func TestNominatedPodsHaveTheirNode(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 2, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	claims := w.claims()
	w.nominate(claims[0].Name)
	restarted := observe.New(w.clock)
	s := w.Cluster.Snapshot()
	restarted.Set(s.Pools()[0].Object)
	restarted.Set(&claims[0])
	for _, p := range s.Pending() {
		restarted.Set(p.Object)
	}
	w.Cluster, w.planned = restarted, nil
	for range 3 {
		w.clock.Step(retry)
		w.reconcile()
	}
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims, want 1", n)
	}
	if got := w.replanned(); got != 0 {
		t.Errorf("%v pods needed another plan, want none", got)
	}
}

// A nomination to a node that is gone is no place: the pods get another plan, and that is counted.
func TestNodesThatGoAreReplanned(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 2, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	gone := w.claims()[0]
	w.nominate(gone.Name)
	w.Cluster.Remove(&gone)
	w.clock.Step(retry)
	w.reconcile()
	if n := len(w.claims()); n != 2 {
		t.Errorf("%d claims were made, want another for the one that went", n)
	}
	if got := w.replanned(); got != 2 {
		t.Errorf("%v pods needed another plan, want 2", got)
	}
	w.clock.Step(retry)
	w.reconcile()
	if got := w.replanned(); got != 2 {
		t.Errorf("%v pods needed another plan, want no more than 2", got)
	}
}

// Pods that are refused lose the place that they were told.
func TestRefusalBreaksPromises(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 1, 1)
	w.nominate("nowhere")
	w.cloud.Types = nil
	w.clock.Step(time.Second)
	w.reconcile()
	s := w.Cluster.Snapshot()
	if got := s.PromiseOf(s.Pending()[0]); got != "" {
		t.Errorf("the pod is still on its way to %q", got)
	}
}
