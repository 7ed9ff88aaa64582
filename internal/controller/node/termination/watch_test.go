package termination

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

// When a budget allows evictions again, its pods are evicted at once, before the end of their backoff.
func TestBudgetWakes(t *testing.T) {
	budget := func(namespace, value string, allowed int32, generation int64) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Generation: generation}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
		b.Status.DisruptionsAllowed = allowed
		return b
	}
	for _, tt := range []struct {
		name          string
		before, after *policyv1.PodDisruptionBudget // after nil: deleted
		wakes         bool
	}{
		{"allows a disruption", budget("default", "web", 0, 1), budget("default", "web", 1, 1), true},
		{"still allows none", budget("default", "web", 0, 1), budget("default", "web", 0, 1), false},
		{"covers other pods now", budget("default", "web", 0, 1), budget("default", "db", 0, 2), true},
		{"is gone", budget("default", "web", 0, 1), nil, true},
		{"covers other pods", budget("default", "db", 0, 1), budget("default", "db", 1, 1), false},
		{"is of another namespace", budget("other", "web", 0, 1), budget("other", "web", 1, 1), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, leavingNode(), leavingClaim(), pod("web", labelled("app", "web")))
			w.budgetOpens["web"] = epoch.Add(30 * time.Second)
			w.run(31 * time.Second) // nine refusals by now; the next attempt is at 32.7 s
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			defer queue.ShutDown()
			h := w.controller.budgetHandler()
			if tt.after == nil {
				h.Delete(t.Context(), event.DeleteEvent{Object: tt.before}, queue)
			} else {
				h.Update(t.Context(), event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}, queue)
			}
			if got := queue.Len() == 1; got != tt.wakes {
				t.Errorf("woken: %v, want %v", got, tt.wakes)
			}
			w.reconcile()
			left := w.pods()[0].DeletionTimestamp != nil
			if left != tt.wakes {
				t.Errorf("evicted: %v, want %v", left, tt.wakes)
			}
		})
	}
}

func TestBackoffGrowsAndGoesOn(t *testing.T) {
	var a attempts
	node, web := leavingNode(), pod("web")
	var got []time.Duration
	for range 9 {
		got = append(got, a.refuse(node, web, "", epoch).Sub(epoch))
		a.reopen(func(*corev1.Pod) bool { return true })
	}
	want := []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000}
	for i := range want {
		want[i] *= time.Millisecond
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
	if refused, _ := a.of(node.UID); !refused[web.UID].IsZero() {
		t.Errorf("still held until %v", refused[web.UID])
	}
	a.accept(node.UID, web.UID, epoch)
	if got := a.refuse(node, web, "", epoch).Sub(epoch); got != 100*time.Millisecond {
		t.Errorf("after an acceptance the delay is %s, want 100ms", got)
	}
}
