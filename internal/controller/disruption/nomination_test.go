package disruption

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/nominate"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/nomination"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// newEmptyWorld returns a world with one empty node of four cores.
func newEmptyWorld(t *testing.T) *world {
	w := newDearWorld(t)
	w.Cluster.Remove(podOf("web", "node-0"))
	return w
}

// nominate adds a pending pod with a node selector for the zone. An earlier run of the controller nominated it to node-0,
// which is in zone a.
func (w *world) nominate(name, zone string) {
	w.t.Helper()
	pod := podOf(name, "")
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone}
	pod.Status.NominatedNodeName = "node-0"
	if err := w.client.Create(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: nominate.FieldManager, Subresource: "status",
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
	}}
	w.Cluster.Set(pod)
}

// nominated returns the node that the pod is nominated to on the API server.
func (w *world) nominated(name string) string {
	w.t.Helper()
	pod := &corev1.Pod{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, pod); err != nil {
		w.t.Fatal(err)
	}
	return pod.Status.NominatedNodeName
}

// A nomination from before a restart is not valid, because the pod does not fit on the node. It does not prevent the disruption
// of the node, and it is cleared when the node is marked.
func TestStaleNominationIsCleared(t *testing.T) {
	w := newEmptyWorld(t)
	w.nominate("late", "b")
	nominator := &nomination.Controller{
		Cluster: w.Cluster, Nominator: act.NewNominator(w.client), Clock: w.clock, On: true,
		Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), nil).Scheduler,
	}
	for _, want := range []string{"node-0", ""} {
		if _, err := nominator.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
		if got := w.nominated("late"); got != want {
			t.Errorf("the pod is nominated to %q, want %q", got, want)
		}
		w.pass(deletionDelay)
	}
	w.want(1, 1, 1)
}

// If an invalid nomination is written after a node was marked, and is never cleared, the node is disrupted all the same.
func TestStaleNominationOfOthers(t *testing.T) {
	w := newEmptyWorld(t)
	w.pass(minInterval)
	w.want(1, 0, 1)
	w.nominate("late", "b")
	w.pass(deletionDelay)
	w.want(1, 1, 1)
}

// A valid nomination prevents the disruption of an empty node, both before and after the node is marked.
func TestNominationThatHolds(t *testing.T) {
	t.Run("before the mark", func(t *testing.T) {
		w := newEmptyWorld(t)
		w.nominate("late", "a")
		w.pass(minInterval)
		w.want(0, 0, 0)
	})
	t.Run("after the mark", func(t *testing.T) {
		w := newEmptyWorld(t)
		w.pass(minInterval)
		w.want(1, 0, 1)
		w.nominate("late", "a")
		w.pass(deletionDelay)
		w.want(0, 0, 0)
	})
}

// A pod is nominated to a node whose terminating pods still occupy the capacity that it needs. The node is not disrupted as
// empty.
func TestNominationToRoomThatComes(t *testing.T) {
	w := newEmptyWorld(t)
	w.pass(minInterval)
	w.want(1, 0, 1)
	low := podOf("low", "node-0")
	low.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3")
	low.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	w.Cluster.Set(low)
	w.nominate("high", "a")
	w.pass(deletionDelay)
	w.want(0, 0, 0)
}
