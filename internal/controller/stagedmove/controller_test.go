package stagedmove

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/observe"
)

// A world has the node old, which is being deleted. Its pods, of a StatefulSet, will move to the reserved nodes first and second.
type world struct {
	*Controller
	t      *testing.T
	client client.Client
	clock  *clocktesting.FakeClock
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))}
	w.client = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	w.Controller = &Controller{Cluster: observe.New(w.clock), Clock: w.clock, Actor: &act.Actor{Client: w.client}}
	w.add("old", 0)
	w.add("first", 1)
	w.add("second", 2)
	for i, to := range []string{"first", "second", "second"} {
		w.pod(i, "StatefulSet", "web", "old")
		w.Cluster.Promise(to, []*model.Pod{{Key: fmt.Sprint("d/p", i)}}, w.clock.Now().Add(time.Hour))
	}
	return w
}

// add creates a node and its claim. With a turn above 0, the claim replaces old in that stage. With turn 0, the claim is being
// deleted.
func (w *world) add(name string, turn int) {
	labels := map[string]string{
		apiv1.NodePoolLabelKey: "p", apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("n" + name), Labels: labels}}
	node.Spec.ProviderID = "x:///" + name
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("c" + name), Labels: labels}}
	claim.Status.ProviderID = node.Spec.ProviderID
	if turn > 0 {
		node.Spec.Taints = []corev1.Taint{{Key: "example.com/team", Effect: corev1.TaintEffectNoSchedule}, apiv1.StagedMoveNoScheduleTaint()}
		claim.Annotations = map[string]string{apiv1.ReplacesAnnotationKey: "old", apiv1.MoveStageAnnotationKey: fmt.Sprint(turn)}
	} else {
		claim.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	}
	if err := w.client.Create(w.t.Context(), node); err != nil {
		w.t.Fatal(err)
	}
	w.Cluster.Set(node)
	w.Cluster.Set(claim)
}

// pod adds or updates pod number i of a workload.
func (w *world) pod(i int, kind, workload, node string) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("u", i))}}
	p.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: kind, Name: workload, UID: types.UID("w" + workload), Controller: ptr.To(true)},
	}
	p.Spec.NodeName = node
	w.Cluster.Set(p)
}

// leave deletes the pods.
func (w *world) leave(names ...string) {
	for _, name := range names {
		p, ok := w.Cluster.Snapshot().Pods.Get("d/" + name)
		if !ok {
			w.t.Fatalf("there is no pod %s", name)
		}
		o := p.Object.DeepCopy()
		o.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
		w.Cluster.Set(o)
	}
}

// pass advances the clock and reconciles once.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.clock.Step(d)
	if _, err := w.Reconcile(w.t.Context(), ctrl.Request{}); err != nil {
		w.t.Fatal(err)
	}
}

// want compares which nodes are open, and how many pods wait for their destination to be opened.
func (w *world) want(what string, first, second bool, awaiting int) {
	w.t.Helper()
	for name, open := range map[string]bool{"first": first, "second": second} {
		node := &corev1.Node{}
		if err := w.client.Get(w.t.Context(), types.NamespacedName{Name: name}, node); err != nil {
			w.t.Fatal(err)
		}
		if got := len(node.Spec.Taints) == 1; got != open {
			w.t.Errorf("%s: node %s has taints %v, want it open: %v", what, name, node.Spec.Taints, open)
		}
	}
	var pods []*corev1.Pod
	for _, p := range w.Cluster.Snapshot().Pods.Values() {
		pods = append(pods, p.Object)
	}
	if got := len(w.Awaiting(pods)); got != awaiting {
		w.t.Errorf("%s: %d pods wait for their node, want %d", what, got, awaiting)
	}
}

// One replacement is opened after another. The next one is opened when the pods of the previous stage have left and pause has
// elapsed.
func TestTurns(t *testing.T) {
	w := newWorld(t)
	var told [][]string
	w.OnOpen(func(from []string) { told = append(told, from) })
	w.want("before", false, false, 3)
	w.pass(pause)
	w.want("the scheduler has its time", false, false, 3)
	w.pass(pause)
	w.want("no pod is pending", true, false, 2)
	w.pass(pause)
	w.pass(pause)
	w.want("the first has not left", true, false, 2)
	w.leave("p0")
	w.pass(pause)
	w.want("it has just left", true, false, 2)
	w.pass(pause)
	w.want("it has left", true, true, 0)
	if want := [][]string{{"old"}, {"old"}}; !reflect.DeepEqual(told, want) {
		t.Errorf("told %v, want that pods of old may move, for each node that was opened", told)
	}
}

// A clock that is put back does not stop the stages.
func TestClockIsPutBack(t *testing.T) {
	w := newWorld(t)
	now := w.clock.Now()
	w.clock.Step(30 * time.Minute)
	w.pass(pause)
	w.clock.SetTime(now)
	w.pass(pause)
	w.want("the time of the stage begins again", false, false, 3)
	w.pass(pause)
	w.want("the time has passed", true, false, 2)
}

// When as many new pods were created as have left, the next node is opened at once. A pod that is not replaced delays that by
// at most pause. DaemonSet pods do not count.
func TestSuccessors(t *testing.T) {
	w := newWorld(t)
	w.add("third", 3)
	w.pod(0, "StatefulSet", "api", "old")
	w.pod(3, "DaemonSet", "logs", "old")
	w.Cluster.Promise("third", []*model.Pod{{Key: "d/p2"}}, w.clock.Now().Add(time.Hour))
	w.pass(tick)
	w.pass(pause)
	w.want("begun", true, false, 2)
	w.leave("p0", "p3")
	w.pass(tick)
	w.want("no successor", true, false, 2)
	w.pod(4, "StatefulSet", "api", "")
	w.pass(tick)
	w.want("one that the scheduler has not looked at", true, false, 2)
	w.pod(4, "StatefulSet", "api", "first")
	w.pass(tick)
	w.want("as many as before", true, true, 1)

	w.leave("p1")
	w.pass(tick)
	w.pass(tick)
	w.want("still no successor", true, true, 1)
	w.pass(pause)
	w.want("it is waited for no longer", true, true, 0)
}

// After patience without progress, the next stage begins.
func TestPatience(t *testing.T) {
	w := newWorld(t)
	w.pass(pause)
	w.pass(pause)
	w.want("begun", true, false, 2)
	for range int(patience / pause) {
		w.pass(pause)
	}
	w.want("held up", true, false, 2)
	w.pass(pause)
	w.want("for too long", true, true, 0)
}

// Pods that are never evicted, for example because of do-not-disrupt, delay the move by patience once, not in every stage.
func TestPatienceOnce(t *testing.T) {
	w := newWorld(t)
	w.add("third", 3)
	w.Cluster.Promise("nowhere", []*model.Pod{{Key: "d/p0"}}, w.clock.Now().Add(time.Hour))
	w.pass(pause)
	for range int(patience / pause) {
		w.want("held up", false, false, 2)
		w.pass(pause)
	}
	w.want("for too long", true, false, 2)
	w.pass(pause)
	w.want("and not again", true, true, 0)
}

// If a pod leaves after its stage has timed out, later stages still wait for their own pods.
func TestStuckThatLeave(t *testing.T) {
	w := newWorld(t)
	for i, to := range []string{"nowhere", "first", "second"} {
		w.Cluster.Promise(to, []*model.Pod{{Key: fmt.Sprint("d/p", i)}}, w.clock.Now().Add(time.Hour))
	}
	w.pass(pause)
	w.pass(patience)
	w.want("p0 is not waited for", true, false, 1)
	w.leave("p0")
	for range 3 {
		w.pass(pause)
		w.want("p1 has not left", true, false, 1)
	}
	w.leave("p1")
	w.pass(pause)
	w.pass(pause)
	w.want("p1 has left", true, true, 0)
}

// Reserved nodes are opened when the claim that they replace no longer exists.
func TestOpensWhenReplacedNodeIsGone(t *testing.T) {
	w := newWorld(t)
	claim, _ := w.Cluster.Snapshot().Claims.Get("old")
	w.Cluster.Remove(claim)
	w.pass(pause)
	w.pass(pause)
	w.want("old is gone", true, true, 0)
}

// All nodes that receive only pods of one ReplicaSet are opened together.
func TestEqualPods(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.pod(i, "ReplicaSet", "web", "old")
	}
	w.want("before", false, false, 3)
	w.pass(pause)
	w.pass(pause)
	w.want("no pod is pending", true, true, 0)
}

// A reserved node has been deleted, and the cache does not show that yet. Opening it is tried every ten seconds, and at once when the cache
// has another version of the node.
func TestOpensOutdatedNodeSeldom(t *testing.T) {
	w := newWorld(t)
	calls := 0
	w.Actor.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			calls++
			return apierrors.NewNotFound(corev1.Resource("nodes"), "first")
		},
	})
	claim, _ := w.Cluster.Snapshot().Claims.Get("old")
	w.Cluster.Remove(claim)
	second, _ := w.Cluster.Snapshot().Claims.Get("second")
	w.Cluster.Remove(second)
	for range 90 {
		w.pass(tick)
	}
	if calls != 1 {
		t.Errorf("%d tries to open a node that is gone in nine seconds, want 1", calls)
	}
	for range 20 {
		w.pass(tick)
	}
	if calls != 2 {
		t.Errorf("%d tries to open a node that is gone in eleven seconds, want 2", calls)
	}
	node := &corev1.Node{}
	if err := w.client.Get(t.Context(), types.NamespacedName{Name: "first"}, node); err != nil {
		t.Fatal(err)
	}
	node.ResourceVersion = "another"
	w.Cluster.Set(node)
	w.pass(tick)
	if calls != 3 {
		t.Errorf("%d tries after another version of the node was seen, want 3", calls)
	}
}
