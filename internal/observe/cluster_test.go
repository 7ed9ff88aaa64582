package observe

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

var start = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func claim(name, uid string, rv int) *apiv1.NodeClaim {
	return &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(uid), ResourceVersion: fmt.Sprint(rv),
	}}
}

func pod(name string, unschedulable bool) *corev1.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
	if unschedulable {
		o.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	return o
}

// names returns "name@resourceVersion" of all claims.
func names(s *model.Snapshot) string {
	out := ""
	for _, c := range s.Claims.Values() {
		out += c.Name + "@" + c.ResourceVersion + " "
	}
	return out
}

func TestAssumeGivesWayToTheWatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps func(c *Cluster, clock *clocktesting.FakeClock)
		want  string
	}{
		{"what we wrote counts at once", func(c *Cluster, _ *clocktesting.FakeClock) {
			c.Assume(claim("a", "1", 5))
		}, "a@5 "},
		{"a watch that lags does not undo a write", func(c *Cluster, _ *clocktesting.FakeClock) {
			c.Set(claim("a", "1", 3))
			c.Assume(claim("a", "1", 5))
			c.Set(claim("a", "1", 4))
		}, "a@5 "},
		{"a watch that has caught up counts", func(c *Cluster, _ *clocktesting.FakeClock) {
			c.Assume(claim("a", "1", 5))
			c.Set(claim("a", "1", 6))
		}, "a@6 "},
		{"an answer slower than the watch is ignored", func(c *Cluster, _ *clocktesting.FakeClock) {
			c.Set(claim("a", "1", 6))
			c.Snapshot()
			c.Assume(claim("a", "1", 5))
		}, "a@6 "},
		{"the end of an earlier object of that name is not ours", func(c *Cluster, _ *clocktesting.FakeClock) {
			c.Assume(claim("a", "2", 5))
			c.Remove(claim("a", "1", 4))
		}, "a@5 "},
		{"gone is gone", func(c *Cluster, _ *clocktesting.FakeClock) {
			c.Assume(claim("a", "1", 5))
			c.Remove(claim("a", "1", 7))
		}, ""},
		{"an answer that is slower than the end of its object does not bring it back", func(c *Cluster, _ *clocktesting.FakeClock) {
			c.Set(claim("a", "1", 5))
			c.Snapshot()
			c.Remove(claim("a", "1", 7))
			c.Assume(claim("a", "1", 6))
		}, ""},
		{"nor does one of an object whose name is used again", func(c *Cluster, _ *clocktesting.FakeClock) {
			c.Set(claim("a", "1", 5))
			c.Replace(claim("a", "1", 5), claim("a", "2", 8))
			c.Assume(claim("a", "1", 6))
		}, "a@8 "},
		{"a creation that the watch never shows counts until the API server is asked",
			func(c *Cluster, clock *clocktesting.FakeClock) {
				c.Assume(claim("a", "1", 5))
				c.Snapshot()
				clock.Step(phantom + time.Second)
			}, "a@5 "},
		{"an update that the watch has yet to show is not", func(c *Cluster, clock *clocktesting.FakeClock) {
			c.Set(claim("a", "1", 5))
			c.Assume(claim("a", "1", 6))
			clock.Step(phantom + time.Second)
		}, "a@6 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(start)
			c := New(clock)
			tt.steps(c, clock)
			if got := names(c.Snapshot()); got != tt.want {
				t.Errorf("claims are %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWaitingPodsWake(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	c := New(clock)
	woken := 0
	c.OnWork(func() { woken++ })
	c.Set(pod("a", false))
	if woken != 0 {
		t.Error("a pod that the scheduler has not looked at woke provisioning")
	}
	c.Set(pod("a", true))
	clock.Step(time.Second)
	c.Set(pod("a", true))
	if woken != 2 {
		t.Errorf("woken %d times, want 2", woken)
	}
	p := c.Snapshot().Pending()
	if len(p) != 1 || !c.WaitingSince(p[0]).Equal(start) {
		t.Errorf("pending %v, want one pod waiting since it was first seen", p)
	}
	bound := pod("a", true)
	bound.Spec.NodeName = "n"
	c.Set(bound)
	if !c.WaitingSince(p[0]).IsZero() {
		t.Error("a bound pod still waits")
	}
}

func TestPromises(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	c := New(clock)
	c.Set(pod("a", true))
	c.Set(claim("c1", "1", 1))
	pods := c.Snapshot().Pending()
	c.Promise("c1", pods, start.Add(20*time.Second))
	clock.Step(time.Minute)
	if got := c.Snapshot().Targets["default/a"]; got != "c1" {
		t.Errorf("promise to a claim in flight is %q, want c1", got)
	}
	c.Remove(claim("c1", "1", 2))
	c.Snapshot()
	if got := c.Snapshot().Targets["default/a"]; got != "" {
		t.Errorf("promise to a claim that is gone is %q", got)
	}
}

// A promise for a node in flight stays valid for a time after the node's initialization, in which kube-scheduler can bind the
// pods.
func TestPromiseOutlastsTheStart(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	c := New(clock)
	c.Set(pod("a", true))
	c.Set(claim("c1", "1", 1))
	told := 0
	c.OnPromise(func() { told++ })
	c.Promise("c1", c.Snapshot().Pending(), start.Add(20*time.Second))
	promised := func() string { return c.Snapshot().Targets["default/a"] }
	if promised() != "c1" || told != 1 {
		t.Fatalf("promised %q, told %d times", promised(), told)
	}
	clock.Step(time.Minute)
	up := claim("c1", "1", 2)
	up.Status.ProviderID = "x:///i"
	c.Set(up)
	node := &corev1.Node{}
	node.Name, node.Spec.ProviderID = "n", "x:///i"
	node.Labels = map[string]string{apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true"}
	c.Set(node)
	if promised() != "c1" {
		t.Error("the promise went when the node came")
	}
	clock.Step(bind)
	if promised() != "c1" {
		t.Error("the promise went before the scheduler's time was over")
	}
	clock.Step(time.Second)
	if got := promised(); got != "" {
		t.Errorf("the promise of %q stands after the scheduler's time", got)
	}
}

// After Break, a pod has no promised node until the next Promise, even if it is nominated.
func TestBreak(t *testing.T) {
	c := New(clocktesting.NewFakeClock(start))
	nominated := pod("a", true)
	nominated.Status.NominatedNodeName = "n"
	c.Set(nominated)
	c.Set(claim("c1", "1", 1))
	of := func() string { s := c.Snapshot(); return s.TargetOf(s.Pending()[0]) }
	if of() != "n" {
		t.Errorf("on its way to %q, want n", of())
	}
	c.Break(c.Snapshot().Pending())
	if of() != "" {
		t.Errorf("on its way to %q after that was broken", of())
	}
	c.Promise("c1", c.Snapshot().Pending(), start.Add(time.Minute))
	if of() != "c1" {
		t.Errorf("on its way to %q, want c1", of())
	}
}

// Assume applies a write to a pod at once. It does not restore a deleted pod.
func TestAssumePod(t *testing.T) {
	c := New(clocktesting.NewFakeClock(start))
	c.Set(pod("a", true))
	wrote := pod("a", true)
	wrote.ResourceVersion, wrote.Status.NominatedNodeName = "5", "n"
	c.Assume(wrote)
	c.Set(pod("a", true))
	if got := c.Snapshot().Pending()[0].Object.Status.NominatedNodeName; got != "n" {
		t.Errorf("nominated to %q before the watch has caught up, want n", got)
	}
	c.Remove(wrote)
	c.Assume(wrote)
	if n := len(c.Snapshot().Pods.Values()); n != 0 {
		t.Errorf("%d pods, want none", n)
	}
}

// The functions of OnCapacity are called when the snapshot already has the change.
func TestOnCapacity(t *testing.T) {
	c := New(clocktesting.NewFakeClock(start))
	seen := []string{}
	c.OnCapacity(func() {
		s := c.Snapshot()
		seen = append(seen, fmt.Sprint(len(s.Claims.Values()), " claims, ", len(s.Pools()), " pools"))
	})
	c.Set(pod("a", true))
	c.Set(claim("a", "1", 1))
	c.Remove(claim("a", "1", 2))
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "p"}}
	c.Set(pool)
	counted := pool.DeepCopy()
	counted.Status.Resources = corev1.ResourceList{corev1.ResourceCPU: {}}
	c.Set(counted)
	ready := counted.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}}
	c.Set(ready)
	if diff := cmp.Diff([]string{"1 claims, 0 pools", "0 claims, 0 pools", "0 claims, 1 pools", "0 claims, 1 pools"}, seen); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// PodsOf returns only the pods of a claim that still need a node.
func TestPodsOfClaim(t *testing.T) {
	c := New(clocktesting.NewFakeClock(start))
	c.Set(claim("c1", "1", 1))
	bound, ended, leaving := pod("bound", false), pod("ended", false), pod("leaving", true)
	bound.Spec.NodeName, ended.Status.Phase = "n", corev1.PodFailed
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: start}, []string{"f"}
	var pods []*model.Pod
	for _, o := range []*corev1.Pod{pod("b", true), pod("a", true), bound, ended, leaving} {
		c.Set(o)
		pods = append(pods, model.NewPod(o))
	}
	c.Set(pod("other", true))
	c.Promise("c1", pods, start.Add(time.Minute))
	got := ""
	for _, o := range c.PodsOf("c1") {
		got += o.Name + " "
	}
	if got != "a b " {
		t.Errorf("pods of the claim are %q, want those that wait", got)
	}
}
