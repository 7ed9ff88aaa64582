package termination

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// turns is a Turns for which no pod waits. A test calls the functions in told to report that a node was opened.
type turns struct{ told []func(from []string) }

func (*turns) Awaiting([]*corev1.Pod) map[types.UID]bool { return nil }

func (t *turns) OnOpen(f func(from []string)) { t.told = append(t.told, f) }

// A node that is opened triggers a reconcile of every node whose pods move to it, and of no other.
func TestOpeningWakes(t *testing.T) {
	w := newWorld(t)
	opened := &turns{}
	w.controller.Turns = opened
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	if err := w.controller.watchTurns(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if queue.Len() != 0 {
		t.Error("nodes are reconciled before a node is opened")
	}
	opened.told[0]([]string{"a", "c"})
	var woken []string
	for range queue.Len() {
		request, _ := queue.Get()
		woken = append(woken, request.Name)
	}
	if slices.Sort(woken); !slices.Equal(woken, []string{"a", "c"}) {
		t.Errorf("reconciled: %v, want a and c", woken)
	}
}
