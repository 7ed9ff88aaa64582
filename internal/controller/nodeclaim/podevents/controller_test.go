package podevents

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

// pod returns a pod that was bound to the claim's node at the given time after the start.
func pod(name string, bound time.Duration) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", CreationTimestamp: metav1.NewTime(world.Start)},
		Spec: corev1.PodSpec{NodeName: "node-a"},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(world.Start.Add(bound)),
		}}},
	}
}

func newWorld(t *testing.T) (*world.World, *apiv1.NodeClaim) {
	t.Helper()
	w := world.New(t)
	claim := world.Joined(w.Cloud, "a")
	w.Add(world.Node("node-a", claim.Status.ProviderID))
	return w, claim
}

// pass reconciles with a new controller, and returns the time of the last pod event in the claim's status, relative to the start.
func pass(t *testing.T, w *world.World) time.Duration {
	t.Helper()
	c := &Controller{Client: w.Client, Clock: w.Clock, Cloud: w.Cloud}
	if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "node-a"}}); err != nil {
		t.Fatal(err)
	}
	at := w.GetClaim("a").Status.LastPodEventTime
	if at.IsZero() {
		return -1
	}
	return at.Sub(world.Start)
}

func TestPodsComeAndGo(t *testing.T) {
	w, claim := newWorld(t)
	w.Add(claim)
	w.Clock.Step(time.Hour)
	if got := pass(t, w); got != -1 {
		t.Errorf("noted %s without any pod", got)
	}
	w.Add(pod("a", 5*time.Minute))
	if got := pass(t, w); got != 5*time.Minute {
		t.Errorf("noted %s, want 5m", got)
	}
	// A restart writes nothing.
	before := w.GetClaim("a").ResourceVersion
	if got := pass(t, w); got != 5*time.Minute || w.GetClaim("a").ResourceVersion != before {
		t.Errorf("noted %s, want the claim as it was", got)
	}
	w.Add(pod("b", 5*time.Minute+time.Second))
	if got := pass(t, w); got != 5*time.Minute+time.Second {
		t.Errorf("noted %s, want 5m1s", got)
	}
	w.Clock.Step(24 * time.Hour)
	if got := pass(t, w); got != 5*time.Minute+time.Second {
		t.Errorf("a day later noted %s, want 5m1s still", got)
	}
}

// Of a burst of events, the time of the first is written at once, and that of the last after the window. This includes events of
// pods that no longer exist by then.
func TestBurst(t *testing.T) {
	w, claim := newWorld(t)
	w.Add(claim)
	c := &Controller{Client: w.Client, Clock: w.Clock, Cloud: w.Cloud}
	look := func() time.Duration {
		t.Helper()
		r, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "node-a"}})
		if err != nil {
			t.Fatal(err)
		}
		return r.RequeueAfter
	}
	goes := func(at time.Duration) {
		p := pod("gone", 0)
		p.DeletionTimestamp = &metav1.Time{Time: world.Start.Add(at)}
		p.DeletionGracePeriodSeconds = ptr.To(int64(0))
		c.recordPodEvent(t.Context(), p)
	}
	want := func(what string, wait, noted time.Duration) {
		t.Helper()
		if got := look(); got != wait {
			t.Errorf("%s: looks again after %v, want %v", what, got, wait)
		}
		if got := w.GetClaim("a").Status.LastPodEventTime.Sub(world.Start); got != noted {
			t.Errorf("%s: noted %v, want %v", what, got, noted)
		}
	}
	w.Clock.Step(time.Hour)
	goes(time.Hour)
	want("the first", 0, time.Hour)
	w.Clock.Step(4 * time.Second)
	goes(time.Hour + 4*time.Second)
	want("within the window", 6*time.Second, time.Hour)
	w.Clock.Step(6 * time.Second)
	want("after the window", 0, time.Hour+4*time.Second)
	w.Clock.Step(20 * time.Second)
	want("nothing new", 0, time.Hour+4*time.Second)
	c.forgetDeleted(t.Context(), event.DeleteEvent{Object: w.GetNode("node-a")}, nil)
	if len(c.recent) > 0 {
		t.Errorf("remembers %v of nodes that are gone", c.recent)
	}
}

// Pod events on a deleted node do not count for a new node with the same name.
func TestNameComesAgain(t *testing.T) {
	w := world.New(t)
	claim := world.Joined(w.Cloud, "a")
	node := world.Node("node-a", claim.Status.ProviderID)
	node.CreationTimestamp = metav1.NewTime(world.Start.Add(30 * time.Minute))
	w.Add(claim, node)
	w.Clock.Step(time.Hour)
	c := &Controller{Client: w.Client, Clock: w.Clock, Cloud: w.Cloud}
	c.recordPodEvent(t.Context(), pod("old", time.Minute))
	if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "node-a"}}); err != nil {
		t.Fatal(err)
	}
	if at := w.GetClaim("a").Status.LastPodEventTime; !at.IsZero() {
		t.Errorf("noted %v, what happened on another node", at)
	}
}

func TestOtherPeoplesClaimsAreLeftAlone(t *testing.T) {
	w, claim := newWorld(t)
	claim.Spec.NodeClassRef.Kind = "Other"
	w.Add(claim, pod("a", time.Minute))
	w.Clock.Step(time.Hour)
	if got := pass(t, w); got != -1 {
		t.Errorf("noted %s, want nothing", got)
	}
}

func TestMovement(t *testing.T) {
	change := func(f func(*corev1.Pod)) *corev1.Pod { p := pod("a", 0); f(p); return p }
	bound := pod("a", 0)
	for _, tt := range []struct {
		name          string
		before, after *corev1.Pod
		want          bool
	}{
		{"bound", change(func(p *corev1.Pod) { p.Spec.NodeName = "" }), bound, true},
		{"ran to its end", bound, change(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), true},
		{"failed", bound, change(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), true},
		{"told to go", bound, change(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: world.Start} }), true},
		{"became ready", bound, change(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), false},
	} {
		if got := stageChanged().Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}); got != tt.want {
			t.Errorf("%s: looked at is %t, want %t", tt.name, got, tt.want)
		}
	}
	if stageChanged().Delete(event.DeleteEvent{Object: bound}) {
		t.Error("a pod that is gone is looked at")
	}
	c := &Controller{Clock: clocktesting.NewFakeClock(world.Start)}
	if got := c.recordPodEvent(t.Context(), change(func(p *corev1.Pod) { p.Spec.NodeName = "" })); got != nil {
		t.Errorf("a pod without a node maps to %v", got)
	}
	if got := c.recordPodEvent(t.Context(), bound); len(got) != 1 || got[0].Name != "node-a" {
		t.Errorf("a bound pod maps to %v, want its node", got)
	}
}
