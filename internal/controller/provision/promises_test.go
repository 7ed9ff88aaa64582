package provision

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/observe"
)

func (w *world) replanned() float64 {
	return testutil.ToFloat64(w.Metrics.Scheduler.ReplannedPodsTotal.WithLabelValues(w.Name()))
}

// nominate sets the nominated node of all pending pods.
func (w *world) nominate(node string) {
	for _, p := range w.Cluster.Snapshot().Pending() {
		o := p.Object.DeepCopy()
		o.Status.NominatedNodeName = node
		w.Cluster.Set(o)
	}
}

// No node is launched for pods that are nominated to a node in flight. This also holds after a restart of the controller.
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

// Pods stay planned for a NodeClaim that is not launched while its NodePool is not ready, as after each change of a NodePool.
func TestPlannedWhilePoolIsNotReady(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 2, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	claims := w.claims()
	w.Cluster.Set(&claims[0])
	known, _ := w.Cluster.Snapshot().Pool("default")
	for _, status := range []metav1.ConditionStatus{metav1.ConditionUnknown, metav1.ConditionTrue} {
		pool := known.Object.DeepCopy()
		pool.Generation++
		pool.Status.Conditions[0].Status = status
		w.Cluster.Set(pool)
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

// A nomination to a node that no longer exists is ignored. The pods are planned again and counted as such.
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
	if n := w.toldAgain("; earlier target " + gone.Name + " no longer exists"); n != 2 {
		t.Errorf("%d pods were told why, want 2: %v", n, *w.events)
	}
	w.clock.Step(retry)
	w.reconcile()
	if got := w.replanned(); got != 2 {
		t.Errorf("%v pods needed another plan, want no more than 2", got)
	}
}

// toldAgain returns the number of events that end with why.
func (w *world) toldAgain(why string) int {
	n := 0
	for _, e := range *w.events {
		if strings.HasSuffix(e, why) {
			n++
		}
	}
	return n
}

// The event names the pod that uses the capacity planned for another pod. Pods that were planned onto the same node are not
// named.
func TestPlaceTaken(t *testing.T) {
	bound := func(uid, node string, at time.Time) *corev1.Pod {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, Namespace: "shop", UID: types.UID(uid)}}
		o.Spec.NodeName = node
		o.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at),
		}}
		return o
	}
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	n1 := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	for name, tt := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"no pod was bound":        {},
		"one was there before":    {pods: []*corev1.Pod{bound("old", "n1", noon.Add(-time.Minute))}},
		"one was planned there":   {pods: []*corev1.Pod{bound("mate", "n1", noon.Add(time.Second))}},
		"one went elsewhere":      {pods: []*corev1.Pod{bound("thief", "n2", noon.Add(time.Second))}},
		"one was meant elsewhere": {pods: []*corev1.Pod{bound("thief", "n1", noon.Add(time.Second))}, want: "earlier target n1 was filled by pod shop/thief"},
	} {
		t.Run(name, func(t *testing.T) {
			s := model.Compile(model.Delta{Nodes: []*corev1.Node{n1}, Pods: tt.pods})
			planned := map[types.UID]place{"mate": {"n1", noon}, "thief": {"n3", noon}}
			if got := whyAgain(s, planned, place{"n1", noon}); got != tt.want {
				t.Errorf("told %q, want %q", got, tt.want)
			}
		})
	}
}

// Promises of refused pods are removed.
func TestRefusalBreaksPromises(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 1, 1)
	w.nominate("nowhere")
	w.cloud.Types = nil
	w.clock.Step(time.Second)
	w.reconcile()
	s := w.Cluster.Snapshot()
	if got := s.TargetOf(s.Pending()[0]); got != "" {
		t.Errorf("the pod is still on its way to %q", got)
	}
}
