package disruption

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// An ear records events.
type ear struct{ heard []telemetry.Event }

func (e *ear) Publish(events ...telemetry.Event) { e.heard = append(e.heard, events...) }

// words returns the messages of events with the reason.
func (e *ear) words(reason string) string {
	var words []string
	for _, x := range e.heard {
		if o, ok := x.Object.(client.Object); ok && x.Reason == reason {
			words = append(words, o.GetName()+": "+x.Message)
		}
	}
	return strings.Join(words, "; ")
}

// newStaticWorld returns a world with a static pool of six replicas that has one node.
func newStaticWorld(t *testing.T) (*world, *ear) {
	w, e := newDearWorld(t), &ear{}
	w.Events = e
	w.Options.Static = true
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Spec.Replicas = ptr.To(int64(6))
	w.update(pool)
	w.Cluster.Set(pool)
	return w, e
}

// The throttle limits the launches per minute for a static pool. An event reports the nodes that it still lacks.
func TestStaticLaunchesAMinute(t *testing.T) {
	w, e := newStaticWorld(t)
	w.Throttle = &throttle.Throttle{Settings: throttle.Limits{MaxLaunches: 2}}
	held := func() float64 { return testutil.ToFloat64(w.Metrics.Throttle.HeldBack.WithLabelValues("static")) }
	w.pass(minInterval)
	if n := len(w.claims()); n != 3 || held() != 3 {
		t.Errorf("%d claims and %v held back, want the one there was and two, and 3", n, held())
	}
	if told := e.words(telemetry.EventLaunchWithheld); told != "default: Not launched, max-launches-per-minute (2) is reached: 3 x large ($0.3000/h)" {
		t.Errorf("the pool is told %q", told)
	}
	w.pass(poll)
	if n := len(w.claims()); n != 3 {
		t.Errorf("%d claims within a minute, want 3", n)
	}
	for range 2 {
		w.pass(time.Minute)
	}
	if n := len(w.claims()); n != 6 || held() != 0 {
		t.Errorf("%d claims and %v held back in the end, want 6 and none", n, held())
	}
}

// While launches are paused, an event reports how many nodes a static pool lacks. A pause of disruption does not stop its
// launches.
func TestStaticLaunchesArePaused(t *testing.T) {
	w, e := newStaticWorld(t)
	w.Throttle = &throttle.Throttle{Settings: throttle.Limits{PauseLaunches: true}}
	w.pass(minInterval)
	told := e.words(telemetry.EventLaunchWithheld)
	if n := len(w.claims()); n != 1 || !strings.Contains(told, "Not launched, launches are paused (pause-launches): 5 x large") {
		t.Errorf("%d claims, told %q", n, told)
	}
	w.Throttle.Settings = throttle.Limits{PauseDisruption: true}
	w.Options.Paused = true
	w.pass(poll)
	if n := len(w.claims()); n != 6 {
		t.Errorf("%d claims while disruption is paused, want 6", n)
	}
}

// A change of the replicas of a static pool triggers a pass at once. Changes of its status, which come with each node, do not.
func TestStaticPoolIsScaledAtOnce(t *testing.T) {
	w, _ := newStaticWorld(t)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	if err := w.Controller.watch(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	w.pass(minInterval)
	for queue.Len() > 0 { // removes the requests that the new claims caused
		r, _ := queue.Get()
		queue.Done(r)
	}
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Status.Nodes = 6
	w.Cluster.Set(pool)
	if queue.Len() != 0 {
		t.Error("a change of the status makes a pass")
	}
	pool = pool.DeepCopy()
	pool.Spec.Replicas = ptr.To(int64(8))
	w.Cluster.Set(pool)
	if queue.Len() != 1 {
		t.Fatal("a change of replicas makes no pass")
	}
	w.pass(minInterval)
	if n := len(w.claims()); n != 8 {
		t.Errorf("%d claims after the pass, want 8", n)
	}
}

// A static pool whose missing nodes cannot be launched has a warning.
func TestStaticIsShort(t *testing.T) {
	w, e := newStaticWorld(t)
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Spec.Template.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{{
		Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"nowhere"},
	}}
	w.update(pool)
	w.Cluster.Set(pool)
	w.pass(minInterval)
	want := `default: 5 nodes of spec.replicas cannot be launched: NodePool "default": no matching instance type has an available offering`
	if told := e.words(telemetry.EventNoCompatibleInstanceTypes); told != want {
		t.Errorf("the pool is told %q, want %q", told, want)
	}
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims, want the one there was", n)
	}
}
