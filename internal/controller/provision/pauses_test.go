package provision

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// spoil adds a registered node for every claim. The nodes have a taint that excludes pods.
func (w *world) spoil() {
	for _, c := range w.claims() {
		c.Status.ProviderID = "x:///" + c.Name
		w.Cluster.Set(&c)
		n := &corev1.Node{}
		n.Name, n.Spec.ProviderID = c.Name, c.Status.ProviderID
		n.Labels = map[string]string{apiv1.NodePoolLabelKey: "default", apiv1.NodeRegisteredLabelKey: "true"}
		n.Spec.Taints = []corev1.Taint{{Key: "chaos", Effect: corev1.TaintEffectNoSchedule}}
		w.Cluster.Set(n)
	}
}

// If new nodes cannot run a pod, its launches are repeated at growing intervals, and it gets an event. Other pods get nodes at
// once.
func TestUnusableLaunchesArePaused(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 1, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	w.spoil()
	w.clock.Step(time.Second)
	if again := w.reconcile(); again != retry || len(w.claims()) != 1 {
		t.Fatalf("looks again in %v, %d claims, want %v and one", again, len(w.claims()), retry)
	}
	if told := w.told(telemetry.EventLaunchBackoff); len(told) != 1 || !strings.Contains(told[0], "chaos:NoSchedule") {
		t.Errorf("told %q", *w.events)
	}
	if told := w.told(telemetry.EventFailedScheduling); len(told) > 0 {
		t.Errorf("told twice: %q", told)
	}
	if got := testutil.ToFloat64(w.Metrics.Scheduler.BackoffPodsCount.WithLabelValues(w.Name())); got != 1 {
		t.Errorf("%v pods wait, want 1", got)
	}
	w.pend("other", 1, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 2 {
		t.Errorf("%d claims, want one more for a pod without a past", n)
	}
	w.spoil()
	for range 3 * 60 {
		w.clock.Step(2 * time.Second)
		w.reconcile()
		w.spoil()
	}
	if n := len(w.claims()); n < 6 || n > 14 {
		t.Errorf("%d claims in six minutes, want about six for each pod", n)
	}
	if got := testutil.ToFloat64(w.Metrics.Scheduler.UnusableLaunchesTotal.WithLabelValues("default")); got < 6 {
		t.Errorf("%v launches were counted as in vain", got)
	}
}
