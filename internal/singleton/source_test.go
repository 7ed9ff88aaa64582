package singleton

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/karpenter-go/karpenter/internal/workers"
)

func TestSourceEnqueuesOnce(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workers.DefaultLimiter())
	defer queue.ShutDown()
	if err := Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	// Events before the first reconcile add no second request.
	Handler().Create(t.Context(), event.CreateEvent{Object: &corev1.Node{}}, queue)
	if queue.Len() != 1 {
		t.Fatalf("queue has %d requests, want 1", queue.Len())
	}
	if got, _ := queue.Get(); got != Request() {
		t.Errorf("request is %v, want %v", got, Request())
	}
}
