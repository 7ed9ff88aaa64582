package provision

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/karpenter-go/karpenter/internal/controller/throttle"
)

// urgent sets the priority of the pod.
func (w *world) urgent(key string, priority int32) {
	p, ok := w.Cluster.Snapshot().Pods.Get("default/" + key)
	if !ok {
		w.t.Fatalf("there is no pod %s", key)
	}
	o := p.Object.DeepCopy()
	o.Spec.Priority = &priority
	w.Cluster.Set(o)
}

// The throttle limits launches per minute. Nodes for pods of the highest priority are launched first. The other pods get no
// promise of a node that is not launched.
func TestLaunchesAMinute(t *testing.T) {
	w := newWorld(t)
	w.Throttle = &throttle.Throttle{Settings: throttle.Limits{MaxLaunches: 2}}
	w.pend("web", 5, 7) // one pod per node
	w.urgent("web-3", 100)
	w.reconcile()
	w.clock.Step(time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 2 {
		t.Fatalf("%d claims within a minute, 2 may", n)
	}
	if told := strings.Join(w.told("Nominated"), "\n"); !strings.Contains(told, "web-3") || strings.Count(told, "web-") != 2 {
		t.Errorf("told %s, want web-3 and one other", told)
	}
	told := w.told("LaunchWithheld")
	if len(told) != 1 || !strings.Contains(told[0], "Not launched, max-launches-per-minute (2) is reached: 3 x large") {
		t.Errorf("told %q, want the three nodes that have to wait", told)
	}
	if held := testutil.ToFloat64(w.Metrics.Throttle.HeldBack.WithLabelValues("launches")); held != 3 {
		t.Errorf("%v nodes are held back, want 3", held)
	}
	w.clock.Step(30 * time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 2 {
		t.Errorf("%d claims within a minute, 2 may", n)
	}
	w.clock.Step(30 * time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 4 {
		t.Errorf("%d claims within two minutes, 4 may", n)
	}
}

// While launches are paused, pods may be placed on existing nodes, and nothing is launched.
func TestPausedLaunches(t *testing.T) {
	w := newWorld(t)
	w.Throttle = &throttle.Throttle{Settings: throttle.Limits{PauseLaunches: true}}
	w.pend("web", 2, 1)
	w.reconcile()
	w.clock.Step(time.Second)
	w.reconcile()
	told := w.told("LaunchWithheld")
	if len(w.claims()) != 0 || len(told) != 1 || !strings.Contains(told[0], "Not launched, launches are paused (pause-launches): ") {
		t.Errorf("%d claims were created, told %q", len(w.claims()), told)
	}
	w.Throttle.Settings.PauseLaunches = false
	w.clock.Step(retry)
	w.reconcile()
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims once the pause is over, want 1", n)
	}
}
