package launchbackoff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/launchbackoff"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A story is a cluster that changes step by step, with the State that Observe, Launched and Decide return for it.
type story struct {
	state launchbackoff.State
	now   time.Time
	s     *model.Snapshot
	// comes maps names of pending pods to existing nodes on which the next plan places them.
	comes map[string]string
}

func newStory() *story {
	st := &story{now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), s: &model.Snapshot{}}
	st.set(model.Delta{Pools: []*apiv1.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "pool", UID: "pool", Generation: 1}}}})
	return st
}

func (st *story) set(d model.Delta) { st.s = st.s.Apply(d).At(st.now) }

func (st *story) pass(d time.Duration) {
	st.now = st.now.Add(d)
	st.s = st.s.At(st.now)
}

// pod returns a pending pod that kube-scheduler has marked unschedulable. Pods with the same first letter have one owner.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	yes := true
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name[:1], UID: types.UID(name[:1]), Controller: &yes}}
	o.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	for _, do := range change {
		do(o)
	}
	return o
}

func on(node string) func(*corev1.Pod) {
	return func(o *corev1.Pod) { o.Spec.NodeName, o.Status.Conditions = node, nil }
}

func (st *story) pods(all ...*corev1.Pod) { st.set(model.Delta{Pods: all}) }

func (st *story) gone(kind model.Kind, key string) {
	st.set(model.Delta{Gone: []model.Ref{{Kind: kind, Key: key}}})
}

// launch adds a claim that was created for all pending pods.
func (st *story) launch(claim string) {
	st.set(model.Delta{Claims: []*apiv1.NodeClaim{st.claim(claim)}})
	pool, _ := st.s.Pool("pool")
	st.state = launchbackoff.Launched(st.state, launchbackoff.Launch{Claim: claim, Pool: pool, Pods: st.s.Pending()})
	st.observe()
}

func (st *story) claim(name string) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "pool"}}}
	c.Status.ProviderID = "x:///" + name
	return c
}

// join adds the registered and initialized node of the claim, with these taints.
func (st *story) join(name string, taints ...corev1.Taint) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		apiv1.NodePoolLabelKey: "pool", apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
	}}}
	n.Spec.ProviderID, n.Spec.Taints = "x:///"+name, taints
	st.set(model.Delta{Nodes: []*corev1.Node{n}})
}

// remove marks the claim as being deleted. An empty reason means that disruption is not the reason.
func (st *story) remove(name string, reason apiv1.DisruptionReason) {
	c := st.claim(name)
	c.DeletionTimestamp = &metav1.Time{Time: st.now}
	if reason != "" {
		condition.SetTrueWithReason(c, apiv1.ConditionTypeDisruptionReason, string(reason), string(reason), st.now)
	}
	st.set(model.Delta{Claims: []*apiv1.NodeClaim{c}})
}

// ask decides on a plan for all pending and displaced pods. The first pod with a node in st.comes is placed there, and one
// node is launched for the others. ask returns the decision as text: "go" if no pod must wait, otherwise for example
// "1 wait 10s". The first finding follows.
func (st *story) ask() string {
	st.observe()
	plan := &model.Plan{}
	launched := append(st.s.Pending(), st.s.Displaced()...)
	for i, p := range launched {
		if n, ok := st.s.NodeByName(st.comes[p.Object.Name]); ok {
			plan.Placements = []model.Placement{{Node: n, Pods: launched[i : i+1]}}
			launched = slices.Delete(slices.Clone(launched), i, i+1)
			break
		}
	}
	plan.Nodes = []model.PlannedNode{{Pods: launched}}
	d := launchbackoff.Decide(st.state, st.s, plan)
	st.state = d.State
	said := "go"
	if len(d.Wait) > 0 {
		said = fmt.Sprintf("%d wait %v", len(d.Wait), st.untilNext())
	}
	if len(d.Findings) > 0 {
		said += "; " + d.Findings[0].Message()
	}
	return said
}

func taint(key string, effect corev1.TaintEffect) corev1.Taint {
	return corev1.Taint{Key: key, Effect: effect}
}

var chaos = taint("chaos", corev1.TaintEffectNoSchedule)

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name string
		tell func(*story)
		want string
	}{
		{"a first launch", func(st *story) { st.pods(pod("a")) }, "go"},
		{"the node is on its way", func(st *story) { st.pods(pod("a")); st.launch("n") }, "go"},
		{"the node refuses the pod", func(st *story) { st.pods(pod("a")); st.launch("n"); st.join("n", chaos) },
			"1 wait 10s; Node of NodeClaim n was launched for this pod and is not used by it: taint chaos:NoSchedule is not tolerated (1 attempt). Next launch not before 2026-01-05T12:00:10Z. Fix: declare the taint in spec.template.spec.taints of NodePool pool, or tolerate it in the pod"},
		{"others took its room and are about to come", func(st *story) {
			st.pods(pod("a"), pod("b"))
			st.launch("n")
			st.join("n")
			st.comes = map[string]string{"b": "n"}
		}, "go"},
		{"the node is too small", func(st *story) { st.pods(pod("a")); st.launch("n"); st.join("n") },
			"1 wait 10s; Node of NodeClaim n was launched for this pod and is not used by it: the pod does not fit on the node (1 attempt). Next launch not before 2026-01-05T12:00:10Z. Fix: compare the requests of the pod with status.allocatable of node n"},
		{"the node went because it was empty", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n")
			st.remove("n", apiv1.DisruptionReasonEmpty)
			st.observe()
			st.gone(model.KindClaim, "n")
			st.gone(model.KindNode, "n")
		}, "1 wait 10s; Node of NodeClaim n was launched for this pod and is not used by it: the node was deleted as empty before the pod was bound (1 attempt). Next launch not before 2026-01-05T12:00:10Z. Fix: raise spec.disruption.consolidateAfter of NodePool pool"},
		{"the node was interrupted", func(st *story) { st.pods(pod("a")); st.launch("n"); st.join("n"); st.remove("n", "") }, "go"},
		{"the node drifted", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n")
			st.remove("n", apiv1.DisruptionReasonDrifted)
		}, "go"},
		{"the node never came", func(st *story) { st.pods(pod("a")); st.launch("n"); st.gone(model.KindClaim, "n") }, "go"},
		{"the node is in trouble", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n", taint("node.kubernetes.io/unreachable", corev1.TaintEffectNoExecute))
			st.remove("n", "")
		}, "go"},
		{"the node would rather not", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n", taint("soft", corev1.TaintEffectPreferNoSchedule))
			st.remove("n", "")
		}, "go"},
		{"others came first", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n")
			st.pods(pod("b", on("n")))
		}, "go"},
		{"another pod has no part in it", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n", chaos)
			st.gone(model.KindPod, "d/a")
			st.pods(pod("b"))
		}, "go"},
		{"the successor inherits", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n")
			st.pods(pod("a", on("n")))
			st.observe()
			st.join("n", taint("chaos", corev1.TaintEffectNoExecute))
			st.gone(model.KindPod, "d/a")
			st.pods(pod("a2"))
		}, "1 wait 10s; Node of NodeClaim n was launched for this pod and is not used by it: taint chaos:NoExecute is not tolerated (1 attempt). Next launch not before 2026-01-05T12:00:10Z. Fix: declare the taint in spec.template.spec.taints of NodePool pool, or tolerate it in the pod"},
		{"only one successor inherits", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n", chaos)
			st.gone(model.KindPod, "d/a")
			st.pods(pod("a2"), pod("a3"))
		}, "1 wait 10s; Node of NodeClaim n was launched for this pod and is not used by it: taint chaos:NoSchedule is not tolerated (1 attempt). Next launch not before 2026-01-05T12:00:10Z. Fix: declare the taint in spec.template.spec.taints of NodePool pool, or tolerate it in the pod"},
		{"the one before was done with its node", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n")
			st.gone(model.KindPod, "d/a")
			st.pods(pod("a2"))
			st.remove("n", apiv1.DisruptionReasonEmpty)
		}, "go"},
		{"pods of a node that goes count too", func(st *story) {
			st.pods(pod("a"))
			st.launch("n")
			st.join("n", chaos)
			st.join("old")
			st.set(model.Delta{Claims: []*apiv1.NodeClaim{st.claim("old")}})
			st.pods(pod("a", on("old")))
			st.remove("old", "")
		}, "1 wait 10s; Node of NodeClaim n was launched for this pod and is not used by it: taint chaos:NoSchedule is not tolerated (1 attempt). Next launch not before 2026-01-05T12:00:10Z. Fix: declare the taint in spec.template.spec.taints of NodePool pool, or tolerate it in the pod"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := newStory()
			tt.tell(st)
			if got := st.ask(); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

func (st *story) observe() { st.state = launchbackoff.Observe(st.state, st.s) }

// untilNext returns the time until the first waiting pod may have another launch.
func (st *story) untilNext() time.Duration {
	return launchbackoff.NextLaunch(st.state, st.now).Sub(st.now)
}

// fail launches a node with a taint that the pods do not tolerate, and returns the next decision.
func (st *story) fail(n int) string {
	name := fmt.Sprintf("n%d", n)
	st.launch(name)
	st.join(name, chaos)
	return st.ask()
}

func TestPausesDoubleAndEnd(t *testing.T) {
	st := newStory()
	st.pods(pod("a"))
	var pauses []string
	for n := range 8 {
		st.fail(n)
		pause := st.untilNext()
		pauses = append(pauses, pause.String())
		st.pass(pause - time.Second)
		if got := st.ask(); !strings.HasPrefix(got, "1 wait 1s") || strings.Contains(got, "Node of") {
			t.Fatalf("a second before its time: %s", got)
		}
		st.pass(time.Second)
		if got := st.ask(); got != "go" {
			t.Fatalf("when its time has come: %s", got)
		}
	}
	if got := strings.Join(pauses, " "); got != "10s 20s 40s 1m20s 2m40s 5m0s 5m0s 5m0s" {
		t.Errorf("pauses are %s", got)
	}
}

func TestPastIsForgotten(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*story)
		want string
	}{
		{"nothing has changed", func(*story) {}, "1 wait 20s"},
		{"the pod tolerates more", func(st *story) {
			st.pods(pod("a", func(o *corev1.Pod) { o.Spec.Tolerations = []corev1.Toleration{{Key: "chaos"}} }))
		}, "go"},
		{"only the pod's status is another", func(st *story) {
			st.pods(pod("a", func(o *corev1.Pod) { o.Status.NominatedNodeName = "x" }))
		}, "1 wait 20s"},
		{"the pool was changed", func(st *story) {
			st.set(model.Delta{Pools: []*apiv1.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "pool", UID: "pool", Generation: 2}}}})
		}, "go"},
		{"the pod ran for a while", func(st *story) {
			st.join("good")
			st.pods(pod("a", on("good")))
			st.observe()
			st.pass(time.Minute)
			st.observe()
			st.pods(pod("a"))
		}, "go"},
		{"the pod ran for a moment", func(st *story) {
			st.join("good")
			st.pods(pod("a", on("good")))
			st.observe()
			st.pass(time.Second)
			st.observe()
			st.pods(pod("a"))
		}, "1 wait 19s"},
		{"no pod came in its place for long", func(st *story) {
			st.gone(model.KindPod, "d/a")
			st.observe()
			st.pass(11 * time.Minute)
			st.pods(pod("a2"))
		}, "go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := newStory()
			st.pods(pod("a"))
			st.fail(1)
			st.pass(launchbackoff.WaitAfter(1))
			st.fail(2)
			tt.do(st)
			if got := st.ask(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// Every launched node has a taint that the pods do not tolerate, and pods are replaced at random. There are at most 20
// launches in an hour, and at its end the last launch is at most LongestWait plus a minute ago.
func TestLaunchesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := newStory()
		const pods = 3
		next := 0
		name := make([]string, pods)
		for i := range name {
			name[i] = fmt.Sprintf("a%d", i)
			st.pods(pod(name[i]))
			next = i + 1
		}
		launches, last := 0, st.now
		end := st.now.Add(time.Hour)
		for st.now.Before(end) {
			if !strings.Contains(st.ask(), " wait ") {
				launches++
				last = st.now
				n := fmt.Sprintf("n%d", launches)
				st.launch(n)
				st.join(n, chaos)
				st.observe()
			}
			if rapid.IntRange(0, 5).Draw(t, "replace") == 0 {
				i := rapid.IntRange(0, pods-1).Draw(t, "which")
				st.gone(model.KindPod, "d/"+name[i])
				name[i] = fmt.Sprintf("a%d", next)
				next++
				st.pods(pod(name[i]))
			}
			st.pass(time.Duration(rapid.IntRange(1, 30).Draw(t, "seconds")) * time.Second)
		}
		if launches > 20 {
			t.Fatalf("%d launches in an hour", launches)
		}
		if quiet := st.now.Sub(last); quiet > launchbackoff.LongestWait+time.Minute {
			t.Fatalf("no launch for %v", quiet)
		}
	})
}

// Observe, Launched and Decide do not change the State that they are passed. A second call with the same input has the same
// result.
func TestStateIsAValue(t *testing.T) {
	st := newStory()
	st.pods(pod("a"), pod("b"))
	empty := launchbackoff.State{}
	pool, _ := st.s.Pool("pool")
	launched := launchbackoff.Launched(empty, launchbackoff.Launch{Claim: "n", Pool: pool, Pods: st.s.Pending()})
	st.set(model.Delta{Claims: []*apiv1.NodeClaim{st.claim("n")}})
	st.join("n", chaos)
	plan := &model.Plan{Nodes: []model.PlannedNode{{Pods: st.s.Pending()}}}
	if d := launchbackoff.Decide(launchbackoff.Observe(empty, st.s), st.s, plan); len(d.Findings) > 0 {
		t.Errorf("a state from before the launch knows of it: %v", d.Findings)
	}
	seen := launchbackoff.Observe(launched, st.s)
	for range 3 {
		d := launchbackoff.Decide(seen, st.s, plan)
		if len(d.Findings) != 2 || d.Findings[0].Times != 1 || len(d.Wait) != 2 {
			t.Fatalf("the same decision again: %v", d)
		}
		if again := launchbackoff.Decide(d.State, st.s, plan); len(again.Findings) != 0 || len(again.Wait) != 2 {
			t.Fatalf("a launch is found twice: %v", again)
		}
	}
	st.gone(model.KindPod, "d/a")
	st.gone(model.KindPod, "d/b")
	gone := launchbackoff.Observe(seen, st.s)
	for range 3 {
		st := story{now: st.now, s: st.s, state: gone}
		st.pods(pod("a2"))
		if got := st.ask(); !strings.HasPrefix(got, "1 wait 10s") {
			t.Fatalf("the successor: %s", got)
		}
	}
}
