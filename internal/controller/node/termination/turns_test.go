package termination

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// turns is a Turns without waiting pods. A test opens a node by calling the functions in told.
type turns struct{ told []func() }

func (*turns) Awaiting([]*corev1.Pod) map[types.UID]bool { return nil }

func (t *turns) OnOpen(f func()) { t.told = append(t.told, f) }

// The opening of a destination node triggers every node that is being deleted, and no other.
func TestOpeningWakes(t *testing.T) {
	node := func(name string, leaves bool) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{apiv1.TerminationFinalizer}}}
		if leaves {
			n.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
		return n
	}
	w := newWorld(t, node("a", true), node("b", false), node("c", true))
	opened := &turns{}
	w.controller.Turns = opened
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	if err := w.controller.watchTurns(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if queue.Len() != 0 {
		t.Error("nodes are woken before a place is opened")
	}
	opened.told[0]()
	var woken []string
	for range queue.Len() {
		request, _ := queue.Get()
		woken = append(woken, request.Name)
	}
	if slices.Sort(woken); !slices.Equal(woken, []string{"a", "c"}) {
		t.Errorf("woken: %v, want a and c", woken)
	}
}
