package nomination

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A world is a controller with an API server that has two pending pods.
type world struct {
	*Controller
	t      *testing.T
	client client.Client
	clock  *clocktesting.FakeClock
	// fail is the error of patches of pods' status, or of patches of claims if failClaims is true.
	fail       error
	failClaims bool
	// mu guards patches, the number of patches of pods' status, and writers, the field managers of nominations by pod.
	mu      sync.Mutex
	patches int
	writers map[string]string
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, writers: map[string]string{},
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)),
	}
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&corev1.Pod{}).WithObjects(pod("a"), pod("b")).
		WithInterceptorFuncs(interceptor.Funcs{Patch: func(
			ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption,
		) error {
			if w.failClaims {
				return w.fail
			}
			return c.Patch(ctx, o, p, opts...)
		}, SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			w.mu.Lock()
			w.patches++
			w.mu.Unlock()
			if w.fail != nil && !w.failClaims {
				return w.fail
			}
			if err := c.SubResource(sub).Patch(ctx, o, p, opts...); err != nil {
				return err
			}
			var options client.SubResourcePatchOptions
			options.ApplyOptions(opts)
			w.mu.Lock()
			w.writers[o.GetName()] = options.FieldManager
			w.mu.Unlock()
			w.own(o)
			return nil
		}}).Build()
	w.Controller = &Controller{
		Cluster: observe.New(w.clock), Nominator: act.NewNominator(w.client), Clock: w.clock,
		Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), nil).Scheduler, On: true,
	}
	w.watch()
	w.Cluster.Set(node("n", true))
	return w
}

// own sets the field manager of the nomination of o, because the fake client does not.
func (w *world) own(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: w.writers[o.GetName()], Subresource: "status",
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
	}})
}

func pod(name string) *corev1.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
	o.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return o
}

func node(name string, registered bool) *corev1.Node {
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10")}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "p"}}}
	n.Spec.ProviderID, n.Status.Allocatable, n.Status.Capacity = "x:///"+name, size, size
	if registered {
		n.Labels[apiv1.NodeRegisteredLabelKey], n.Labels[apiv1.NodeInitializedLabelKey] = "true", "true"
	}
	return n
}

// watch passes the pods of the API server to the controller.
func (w *world) watch() {
	w.t.Helper()
	var pods corev1.PodList
	if err := w.client.List(w.t.Context(), &pods); err != nil {
		w.t.Fatal(err)
	}
	for i := range pods.Items {
		w.own(&pods.Items[i])
		w.Cluster.Set(&pods.Items[i])
	}
}

// pass reconciles once, after idleInterval.
func (w *world) pass() {
	w.t.Helper()
	w.clock.Step(idleInterval)
	if _, err := w.Reconcile(w.t.Context(), ctrl.Request{}); err != nil {
		w.t.Fatal(err)
	}
}

// want compares the nominations of the pods a and b in the API server.
func (w *world) want(what, a, b string) {
	w.t.Helper()
	var got [2]string
	for i, name := range []string{"a", "b"} {
		var o corev1.Pod
		if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "d", Name: name}, &o); err != nil {
			w.t.Fatal(err)
		}
		got[i] = o.Status.NominatedNodeName
	}
	if diff := cmp.Diff([2]string{a, b}, got); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// erase clears a nomination, as the scheduler does after a failed attempt, and passes the pod to the controller.
func (w *world) erase(name string) {
	w.t.Helper()
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"nominatedNodeName":null}}`))
	if err := w.client.Status().Patch(w.t.Context(), o, patch, client.FieldOwner("kube-scheduler")); err != nil {
		w.t.Fatal(err)
	}
	w.watch()
}

func (w *world) promise(node string) {
	w.Cluster.Promise(node, w.Cluster.Snapshot().Pending(), w.clock.Now().Add(time.Minute))
}

// restart replaces the controller by one without state in memory.
func (w *world) restart() {
	w.Controller = &Controller{
		Cluster: observe.New(w.clock), Nominator: w.Nominator, Clock: w.clock, Metrics: w.Metrics, On: w.On,
	}
	w.watch()
}

func TestNominationsFollowPromises(t *testing.T) {
	w := newWorld(t)
	w.pass()
	w.want("without a plan", "", "")
	w.promise("n")
	w.pass()
	w.want("planned onto a node that is there", "n", "n")
	if w.pass(); w.patches != 2 {
		t.Errorf("%d patches, want no more than one a pod, before the watch shows them too", w.patches)
	}
	w.erase("a")
	w.want("erased by the scheduler", "", "n")
	w.pass()
	w.want("written again", "n", "n")

	w.watch()
	pods := w.Cluster.Snapshot().Pending()
	w.Cluster.Break(pods[:1])
	w.pass()
	w.want("one promise is broken", "", "n")
	w.Cluster.Remove(node("n", true))
	w.pass()
	w.want("the node is gone", "", "")
	for action, want := range map[string]float64{telemetry.NominationWritten: 3, telemetry.NominationCleared: 2} {
		if got := testutil.ToFloat64(w.Metrics.NominationsTotal.WithLabelValues(action)); got != want {
			t.Errorf("%v nominations %s, want %v", got, action, want)
		}
	}
}

// A clock that is put back does not stop nominations.
func TestClockIsPutBack(t *testing.T) {
	w := newWorld(t)
	now := w.clock.Now()
	w.clock.Step(5 * time.Hour)
	w.pass()
	w.promise("n")
	w.clock.SetTime(now)
	w.pass()
	w.want("after the clock was put back", "n", "n")
}

// If nominations are switched off, the controller clears its own nominations and keeps those of kube-scheduler. After a
// restart it has no promises in memory, and knows by the field manager who wrote a nomination.
func TestSwitchedOff(t *testing.T) {
	w := newWorld(t)
	w.promise("n")
	w.pass()
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "b"}}
	for _, node := range []string{"null", `"n"`} { // now the scheduler has nominated b
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"nominatedNodeName":`+node+`}}`))
		if err := w.client.Status().Patch(t.Context(), o, patch, client.FieldOwner("kube-scheduler")); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	w.Cluster.Set(node("n", true))
	w.pass()
	w.want("after a restart", "n", "n")
	w.On = false
	w.pass()
	w.want("switched off", "", "n")
}

// claim returns a launched claim for pending pods; name is the node name that the cloud returned.
func claim(node, name string) *apiv1.NodeClaim {
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100"), corev1.ResourcePods: resource.MustParse("110")}
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "claim-" + node, UID: types.UID("claim-" + node), Labels: map[string]string{apiv1.NodePoolLabelKey: "p"},
		Annotations: map[string]string{apiv1.PodsNominatedToAnnotationKey: ""},
	}}
	if name != "" {
		c.Annotations[apiv1.NodeNameAnnotationKey] = name
	}
	c.Status.ProviderID, c.Status.Allocatable = "x:///"+node, size
	return c
}

// add stores a claim and passes it to the controller.
func (w *world) add(c *apiv1.NodeClaim) {
	w.t.Helper()
	c.CreationTimestamp = metav1.NewTime(w.clock.Now())
	if err := w.client.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	w.Cluster.Set(c)
}

// released returns the node name on the claim, and false if its registration still waits for nominations.
func (w *world) released(name string) (string, bool) {
	w.t.Helper()
	var c apiv1.NodeClaim
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: name}, &c); err != nil {
		w.t.Fatal(err)
	}
	to, waits := c.Annotations[apiv1.PodsNominatedToAnnotationKey]
	return to, !waits || to != ""
}

func (w *world) wantReleased(what, claim, node string) {
	w.t.Helper()
	if to, ok := w.released(claim); to != node || ok != (node != "") {
		w.t.Errorf("%s: %s is released to %q, want %q", what, claim, to, node)
	}
}

// The cloud returned the node name of a starting machine, so its pods are nominated before the node exists. After the scheduler
// clears a nomination, it is written again. The pods keep their nominations when the node joins, and lose them when the instance
// is terminated.
func TestPodsAreNominatedWhileTheMachineBoots(t *testing.T) {
	w := newWorld(t)
	c := claim("m", "m")
	w.add(c)
	w.promise(c.Name)
	w.pass()
	w.want("while the machine boots", "m", "m")
	w.wantReleased("while the machine boots", c.Name, "")

	w.erase("a")
	w.want("erased by the scheduler", "", "m")
	w.pass()
	w.want("written again", "m", "m")

	w.Cluster.Set(node("m", false))
	w.pass()
	w.want("the node has joined", "m", "m")
	w.wantReleased("the node has joined", c.Name, "m")
	w.Cluster.Set(node("m", true))
	w.pass()
	w.want("the node is registered", "m", "m")

	w.watch()
	w.Cluster.Remove(node("m", true))
	w.Cluster.Remove(c)
	w.pass()
	w.want("the machine is gone", "", "")
}

// If the cloud returns no name in advance, pods are nominated after the node has joined and before it is registered.
func TestPodsAreNominatedWhenTheNodeJoins(t *testing.T) {
	w := newWorld(t)
	c := claim("m", "")
	w.add(c)
	w.promise(c.Name)
	w.pass()
	w.want("while the machine boots", "", "")
	w.wantReleased("while the machine boots", c.Name, "")
	w.Cluster.Set(node("m", false))
	w.pass()
	w.want("the node has joined", "m", "m")
	w.wantReleased("the node has joined", c.Name, "m")
}

// A new process reads the plan from the nominations, and continues where the previous process ended.
func TestRestartBeforeTheClaimIsReleased(t *testing.T) {
	w := newWorld(t)
	c := claim("m", "m")
	w.add(c)
	w.Cluster.Set(node("m", false))
	w.promise(c.Name)
	w.fail = errors.New("the process is ended") // writes of claims fail after the pods were written
	w.failClaims = true
	w.pass()
	w.want("before the restart", "m", "m")
	w.wantReleased("before the restart", c.Name, "")

	w.fail, w.failClaims = nil, false
	w.restart()
	w.Cluster.Set(c)
	w.Cluster.Set(node("m", false))
	w.pass()
	w.want("after the restart", "m", "m")
	w.wantReleased("after the restart", c.Name, "m")
}

// A node that joins while claims are still being created waits, because the pods that were planned onto it are not known yet.
func TestClaimsBeingCreated(t *testing.T) {
	w := newWorld(t)
	c := claim("m", "m")
	w.add(c)
	w.Cluster.Set(node("m", false))
	launched := w.Cluster.Launching()
	w.pass()
	w.wantReleased("while claims are being created", c.Name, "")
	w.promise(c.Name)
	launched()
	w.pass()
	w.want("planned", "m", "m")
	w.wantReleased("planned", c.Name, "m")
}

// A claim is not released while nominations of its pods fail.
func TestNominationsFail(t *testing.T) {
	w := newWorld(t)
	c := claim("m", "m")
	w.add(c)
	w.Cluster.Set(node("m", false))
	w.promise(c.Name)
	w.fail = errors.New("out of order")
	w.pass()
	w.wantReleased("out of order", c.Name, "")
	w.fail = nil
	w.pass()
	w.want("in order again", "m", "m")
	w.wantReleased("in order again", c.Name, "m")
}

// A pod that is deleted, and still in the cache, is written once. A pod with the same name that the cache shows later is nominated.
func TestPodIsGone(t *testing.T) {
	w := newWorld(t)
	w.promise("n")
	if err := w.client.Delete(t.Context(), pod("a")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.pass()
	}
	if w.patches != 2 {
		t.Errorf("%d patches in three passes, want one of each pod", w.patches)
	}
	again := pod("a")
	again.UID = "another"
	if err := w.client.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.watch()
	w.promise("n")
	w.pass()
	w.want("there again", "n", "n")
}

// If nominations are switched off or forbidden, no node waits for them.
func TestNoNominations(t *testing.T) {
	for _, off := range []bool{true, false} {
		w := newWorld(t)
		c := claim("m", "m")
		w.add(c)
		w.promise(c.Name)
		if w.On = !off; w.On {
			w.fail = apierrors.NewForbidden(schema.GroupResource{Resource: "pods/status"}, "a", nil)
			w.pass()
		}
		w.pass()
		w.want("no nominations", "", "")
		if to, ok := w.released(c.Name); !ok || to != "" {
			t.Errorf("off %t: the claim waits: %t, for nominations to %q", off, !ok, to)
		}
	}
}

// A pass writes a part of many nominations. The next pass makes a new decision, and pods that are bound by then get no
// nomination.
func TestManyNominations(t *testing.T) {
	w := newWorld(t)
	var pods []*corev1.Pod
	for i := range 120 {
		p := pod(fmt.Sprintf("p%03d", i))
		if err := w.client.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, p)
	}
	w.watch()
	for i, name := range []string{"m", "o"} {
		n := node(name, true)
		n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("60")
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("60")
		w.Cluster.Set(n)
		waiting := w.Cluster.Snapshot().Pending()[2:]
		w.Cluster.Promise(name, waiting[60*i:60*i+60], w.clock.Now().Add(time.Minute))
	}
	w.clock.Step(idleInterval)
	w.fail = errors.New("out of order")
	if result, err := w.Reconcile(t.Context(), ctrl.Request{}); err != nil || result.RequeueAfter < idleInterval || w.patches != maxWritesPerPass {
		t.Fatalf("with an API server that takes nothing, %d were tried, and again after %v (%v)", w.patches, result.RequeueAfter, err)
	}
	w.fail, w.patches = nil, 0
	w.clock.Step(idleInterval)
	result, err := w.Reconcile(t.Context(), ctrl.Request{})
	if err != nil || result.RequeueAfter == 0 || result.RequeueAfter >= busyInterval || w.patches != maxWritesPerPass {
		t.Fatalf("the first pass wrote %d and comes again after %v (%v)", w.patches, result.RequeueAfter, err)
	}
	for _, p := range pods[maxWritesPerPass : maxWritesPerPass+5] {
		bound := p.DeepCopy()
		bound.Spec.NodeName, bound.ResourceVersion = "o", "99999"
		w.Cluster.Set(bound)
	}
	if _, err = w.Reconcile(t.Context(), ctrl.Request{}); err != nil || w.patches != 115 {
		t.Errorf("two passes wrote %d (%v), want 115 in all", w.patches, err)
	}
	w.clock.Step(idleInterval)
	if result, err = w.Reconcile(t.Context(), ctrl.Request{}); err != nil || result.RequeueAfter != recheckInterval || w.patches != 115 {
		t.Errorf("three passes wrote %d, and the last comes again after %v (%v)", w.patches, result.RequeueAfter, err)
	}
}

// After the API server has refused a write as forbidden, no other is sent. All other failed writes are repeated.
func TestRefusal(t *testing.T) {
	w := newWorld(t)
	w.promise("n")
	w.fail = apierrors.NewInternalError(context.DeadlineExceeded)
	w.pass()
	w.pass()
	if w.patches != 4 {
		t.Errorf("%d patches, want two pods tried twice", w.patches)
	}
	w.fail = apierrors.NewForbidden(schema.GroupResource{Resource: "pods/status"}, "a", nil)
	for range 3 {
		w.pass()
	}
	if w.patches != 6 {
		t.Errorf("%d patches, want one more of each pod", w.patches)
	}
	w.want("refused", "", "")
}

// Bound nominated pods are counted by scheduler and by whether the node was the nominated one.
func TestOutcomesAreCounted(t *testing.T) {
	w := newWorld(t)
	w.Cluster.Set(node("other", true))
	w.promise("n")
	w.pass()
	w.watch() // passes the nominations to the controller
	w.pass()
	for name, to := range map[string]string{"a": "n", "b": "other"} {
		var o corev1.Pod
		if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "d", Name: name}, &o); err != nil {
			t.Fatal(err)
		}
		o.Spec.NodeName = to
		o.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now()),
		}}
		o.ResourceVersion = "100"
		w.Cluster.Set(&o)
	}
	w.pass()
	for _, label := range []string{telemetry.BoundAsNominated, telemetry.BoundElsewhere} {
		if got := testutil.ToFloat64(w.Metrics.NominatedPodsBoundTotal.WithLabelValues("default-scheduler", label)); got != 1 {
			t.Errorf("%v pods are counted as bound to node %q, want 1", got, label)
		}
	}
	if tally := w.Tally("default-scheduler"); tally.Bound != 2 || tally.Elsewhere != 1 {
		t.Errorf("the tally is %+v", tally)
	}
}

// A scheduler that follows no nomination has the series of followed nominations too, with the value 0. Otherwise a query that
// compares both has no result.
func TestOutcomesHaveBothSeries(t *testing.T) {
	w := newWorld(t)
	w.Cluster.Set(node("other", true))
	w.promise("n")
	w.pass()
	w.watch() // passes the nominations to the controller
	w.pass()
	var o corev1.Pod
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "d", Name: "a"}, &o); err != nil {
		t.Fatal(err)
	}
	o.Spec.NodeName, o.ResourceVersion = "other", "100"
	o.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.clock.Now()),
	}}
	w.Cluster.Set(&o)
	w.pass()
	if got := testutil.CollectAndCount(w.Metrics.NominatedPodsBoundTotal); got != 2 {
		t.Errorf("%d series, want 2", got)
	}
}
