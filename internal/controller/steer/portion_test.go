package steer

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrl "sigs.k8s.io/controller-runtime"
)

// A pass writes a part of many nominations, and looks again before it writes more: those that run by then need none.
func TestPortions(t *testing.T) {
	w := newWorld(t)
	var pods []*corev1.Pod
	for i := range 2 * 60 {
		p := pod(fmt.Sprintf("p%03d", i))
		if err := w.client.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, p)
	}
	w.watch()
	for i, name := range []string{"m", "o"} {
		n := node(name, true)
		n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("60")
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("60")
		w.Cluster.Set(n)
		waiting := w.Cluster.Snapshot().Pending()[2:]
		w.Cluster.Promise(name, waiting[60*i:60*i+60], w.clock.Now().Add(pause*10))
	}
	w.clock.Step(pause)
	w.fail = errors.New("out of order")
	if result, err := w.Reconcile(t.Context(), ctrl.Request{}); err != nil || result.RequeueAfter < pause || w.patches != portion {
		t.Fatalf("with an API server that takes nothing, %d were tried, and again after %v (%v)", w.patches, result.RequeueAfter, err)
	}
	w.fail, w.patches = nil, 0
	w.clock.Step(pause)
	result, err := w.Reconcile(t.Context(), ctrl.Request{})
	if err != nil || result.RequeueAfter == 0 || result.RequeueAfter >= pause || w.patches != portion {
		t.Fatalf("the first pass wrote %d and comes again after %v (%v)", w.patches, result.RequeueAfter, err)
	}
	for _, p := range pods[portion : portion+5] {
		bound := p.DeepCopy()
		bound.Spec.NodeName, bound.ResourceVersion = "o", "99999"
		w.Cluster.Set(bound)
	}
	result, err = w.Reconcile(t.Context(), ctrl.Request{})
	if err != nil || result.RequeueAfter != again || w.patches != 115 {
		t.Errorf("two passes wrote %d and come again after %v (%v), want 115 in all", w.patches, result.RequeueAfter, err)
	}
}
