package steer

import (
	"context"
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

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A world is a controller on an API server that has two pods which wait.
type world struct {
	*Controller
	t      *testing.T
	client client.Client
	clock  *clocktesting.FakeClock
	// fail is what the API server answers to patches of status; patches counts them.
	fail    error
	patches int
	// before and after are called with the name of a pod when its status is patched.
	before func(ctx context.Context, pod string)
	after  func(pod string)
	// writers wrote the nominations of pods.
	writers map[string]string
	// mu is held by whoever counts patches and notes writers.
	mu sync.Mutex
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, writers: map[string]string{}, before: func(context.Context, string) {}, after: func(string) {},
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)),
	}
	w.client = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).
		WithStatusSubresource(&corev1.Pod{}).WithObjects(pod("a"), pod("b")).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			w.before(ctx, o.GetName())
			w.mu.Lock()
			w.patches++
			w.mu.Unlock()
			if w.fail != nil {
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
			w.after(o.GetName())
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

// own notes on o, as an API server does and a fake does not, who wrote its nomination.
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

// watch shows the controller the pods as they are.
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

// pass reconciles once, after the pause.
func (w *world) pass() {
	w.t.Helper()
	w.clock.Step(pause)
	if _, err := w.Reconcile(w.t.Context(), ctrl.Request{}); err != nil {
		w.t.Fatal(err)
	}
}

// want compares what pods are nominated to on the API server.
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

// erase does what the scheduler does after an attempt that failed, and shows it.
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

// A restart forgets promises, and whose nominations are whose is on the pods.
func TestSwitchedOff(t *testing.T) {
	w := newWorld(t)
	w.promise("n")
	w.pass()
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "b"}}
	for _, node := range []string{"null", `"n"`} { // b is nominated by the scheduler now
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"nominatedNodeName":`+node+`}}`))
		if err := w.client.Status().Patch(t.Context(), o, patch, client.FieldOwner("kube-scheduler")); err != nil {
			t.Fatal(err)
		}
	}
	w.Cluster = observe.New(w.clock)
	w.Cluster.Set(node("n", true))
	w.watch()
	w.pass()
	w.want("after a restart", "n", "n")
	w.On = false
	w.pass()
	w.want("switched off", "", "n")
}

// Pods are shown to a node before it is opened, and only then.
func TestJoin(t *testing.T) {
	w := newWorld(t)
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{apiv1.NodePoolLabelKey: "p"}}}
	claim.Status.ProviderID, claim.Status.Allocatable = "x:///m", node("m", false).Status.Allocatable
	w.Cluster.Set(claim)
	w.Cluster.Set(node("m", false))
	w.promise("c")
	w.pass()
	w.want("before the node is opened", "", "")
	w.Join(t.Context(), claim, node("m", false))
	w.want("when it is about to be", "m", "m")
	w.pass()
	w.want("until it is", "m", "m")
}

// A node may join in the moment that it is launched, before any watch has shown it.
func TestJoinAtOnce(t *testing.T) {
	w := newWorld(t)
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{apiv1.NodePoolLabelKey: "p"}}}
	w.Cluster.Set(claim.DeepCopy())
	w.promise("c")
	claim.Status.ProviderID, claim.Status.Allocatable = "x:///m", node("m", false).Status.Allocatable
	w.Join(t.Context(), claim, node("m", false))
	w.want("when it is about to be opened", "m", "m")
	w.pass()
	w.want("until it is", "m", "m")
}

// An API server that refuses is asked once. Everything else is tried again.
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
		w.Join(t.Context(), &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, node("n", true))
	}
	if w.patches != 6 {
		t.Errorf("%d patches, want one more of each pod", w.patches)
	}
	w.want("refused", "", "")
}
