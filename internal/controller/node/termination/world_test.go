package termination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

var epoch = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

const nodeName, providerID = "node-1", "fake:///i-1"

// A world is one node and everything that acts on it except the controller: an API server with preconditions, grace periods and
// budgets, kubelets that stop pods, and a cloud that is slow. All changes are recorded in story.
type world struct {
	t          *testing.T
	clock      *clocktesting.FakeClock
	tracker    clienttesting.ObjectTracker
	client     client.Client
	controller *Controller
	story      []string

	budgetOpens map[string]time.Time // pod name: its evictions are refused before this time
	twoBudgets  map[string]bool      // pod name: two budgets select it
	hung        map[string]bool      // pod name: its kubelet never stops it
	endsAfter   time.Duration        // time that the cloud needs to terminate the instance
	ending      time.Time            // when the termination was requested; zero: not yet
	lost        bool                 // the instance was terminated outside Karpenter
	silent      bool                 // Get of the cloud returns an error
	refuses     error                // the error of Delete of the cloud; nil: it accepts
	detach      map[string]time.Time // attachment name: when it is detached
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{
		t: t, clock: clocktesting.NewFakeClock(epoch), endsAfter: 10 * time.Second,
		budgetOpens: map[string]time.Time{}, twoBudgets: map[string]bool{}, hung: map[string]bool{},
		detach: map[string]time.Time{},
	}
	w.tracker = clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(w.tracker).WithObjects(objects...).
		WithStatusSubresource(&apiv1.NodeClaim{}, &corev1.Node{}).
		WithIndex(&corev1.Pod{}, podsByNode, func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithIndex(&corev1.Node{}, nodesByProvider, func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).
		WithIndex(&storagev1.VolumeAttachment{}, attachmentsByNode, func(o client.Object) []string {
			return []string{o.(*storagev1.VolumeAttachment).Spec.NodeName}
		}).
		WithIndex(&apiv1.NodeClaim{}, claimsByProvider, func(o client.Object) []string {
			return []string{o.(*apiv1.NodeClaim).Status.ProviderID}
		}).
		WithInterceptorFuncs(interceptor.Funcs{Delete: w.delete, SubResourceCreate: w.evict}).Build()
	w.controller = &Controller{
		Client: w.client, Live: w.client, Clock: w.clock, Events: w, Cloud: fakeCloud{w: w},
		Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), []string{apiv1.NodePoolLabelKey}),
		atOnce:  1, // so that the order of stories is deterministic
	}
	return w
}

// tell adds a line to the story.
func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%s %s", w.clock.Since(epoch), fmt.Sprintf(format, args...)))
}

// Publish implements telemetry.Recorder. Each event is recorded once, with the first part of its message.
func (w *world) Publish(events ...telemetry.Event) {
	for _, e := range events {
		o := e.Object.(client.Object)
		line := fmt.Sprintf("event %s %s: %s", o.GetName(), e.Reason, e.Message)
		if !slices.ContainsFunc(w.story, func(s string) bool { return strings.HasSuffix(s, line) }) {
			w.tell("%s", line)
		}
	}
}

// evict implements the eviction subresource of the API server.
func (w *world) evict(ctx context.Context, c client.Client, _ string, o, sub client.Object, _ ...client.SubResourceCreateOption) error {
	pod, err := w.podFor(ctx, c, o, sub.(*policyv1.Eviction).DeleteOptions.Preconditions.UID)
	if err != nil {
		return err
	}
	if w.twoBudgets[pod.Name] {
		return apierrors.NewInternalError(fmt.Errorf("this pod has more than one PodDisruptionBudget, which is not supported"))
	}
	if w.clock.Now().Before(w.budgetOpens[pod.Name]) {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	w.tell("evicted %s", pod.Name)
	return w.terminate(pod, *pod.Spec.TerminationGracePeriodSeconds)
}

// delete implements deletions of the API server.
func (w *world) delete(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	if claim, ok := o.(*apiv1.NodeClaim); ok {
		w.tell("claim deleted")
		claim = claim.DeepCopy()
		claim.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
		return w.tracker.Update(apiv1.GroupVersion.WithResource("nodeclaims"), claim, "")
	}
	pod, err := w.podFor(ctx, c, o, options.Preconditions.UID)
	if err != nil {
		return err
	}
	w.tell("deleted %s with %ds", pod.Name, *options.GracePeriodSeconds)
	return w.terminate(pod, *options.GracePeriodSeconds)
}

func (w *world) podFor(ctx context.Context, c client.Client, o client.Object, uid *types.UID) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), pod); err != nil {
		return nil, err
	}
	if uid == nil || *uid != pod.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod.Name, fmt.Errorf("UID differs"))
	}
	return pod, nil
}

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

// terminate marks the pod as terminating. A second call can only make its end earlier.
func (w *world) terminate(pod *corev1.Pod, seconds int64) error {
	at := metav1.NewTime(w.clock.Now().Add(time.Duration(seconds) * time.Second))
	if pod.DeletionTimestamp == nil || at.Time.Before(pod.DeletionTimestamp.Time) {
		pod.DeletionTimestamp = &at
		pod.Finalizers = []string{"test/kubelet"} // without a finalizer, the fake client keeps no deletion timestamp
	}
	return w.tracker.Update(podsResource, pod, pod.Namespace)
}

// work does the due work of kubelets and of the volume controller.
func (w *world) work() {
	pods, attachments := w.pods(), &storagev1.VolumeAttachmentList{}
	if err := w.client.List(context.Background(), attachments); err != nil {
		w.t.Fatal(err)
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil && !w.hung[pod.Name] && !w.clock.Now().Before(pod.DeletionTimestamp.Time) {
			w.tell("gone %s", pod.Name)
			if err := w.tracker.Delete(podsResource, pod.Namespace, pod.Name); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	for _, a := range attachments.Items {
		if at, ok := w.detach[a.Name]; ok && !w.clock.Now().Before(at) {
			w.tell("detached %s", a.Name)
			if err := w.tracker.Delete(storagev1.SchemeGroupVersion.WithResource("volumeattachments"), "", a.Name); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func (w *world) pods() []corev1.Pod {
	list := &corev1.PodList{}
	if err := w.client.List(context.Background(), list); err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

// nextEvent returns the time of the next change by kubelets, volumes or the cloud, at most horizon.
func (w *world) nextEvent(horizon time.Time) time.Time {
	next := horizon
	consider := func(at time.Time) {
		if at.After(w.clock.Now()) && at.Before(next) {
			next = at
		}
	}
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp != nil && !w.hung[pod.Name] {
			consider(pod.DeletionTimestamp.Time)
		}
	}
	for _, at := range w.detach {
		consider(at)
	}
	return next
}

// run reconciles after each change of the world and whenever the controller asked for it, until the node is gone or span has
// passed. Events trigger the controller without a delay.
func (w *world) run(span time.Duration) {
	w.t.Helper()
	horizon := w.clock.Now().Add(span)
	for range 10_000 {
		w.work()
		told := len(w.story)
		result := w.reconcile()
		if w.node() == nil {
			w.tell("node gone")
			return
		}
		if len(w.story) > told {
			continue // the changes of the controller trigger it again as events
		}
		next := w.nextEvent(horizon)
		if result.RequeueAfter > 0 {
			if at := w.clock.Now().Add(result.RequeueAfter); at.Before(next) {
				next = at
			}
		}
		if !next.Before(horizon) {
			w.clock.SetTime(horizon)
			return
		}
		w.clock.SetTime(next)
	}
	w.t.Fatal("the controller asks to be woken again and again")
}

func (w *world) reconcile() ctrl.Result {
	w.t.Helper()
	result, err := w.controller.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Name: nodeName}})
	if err != nil {
		w.t.Fatalf("at %s: %v", w.clock.Since(epoch), err)
	}
	return result
}

// node returns the node, or nil if it is gone.
func (w *world) node() *corev1.Node {
	node := &corev1.Node{}
	err := w.client.Get(context.Background(), types.NamespacedName{Name: nodeName}, node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return node
}

// claim returns the claim of the node.
func (w *world) claim() *apiv1.NodeClaim {
	claim := &apiv1.NodeClaim{}
	if err := w.client.Get(context.Background(), types.NamespacedName{Name: "claim-1"}, claim); err != nil {
		w.t.Fatal(err)
	}
	return claim
}

// A fakeCloud has one instance.
type fakeCloud struct {
	cloud.Provider
	w *world
}

func (c fakeCloud) Facts() cloud.Facts {
	return cloud.Facts{NodeClasses: []schema.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "TestNodeClass"}}}
}

func (c fakeCloud) gone() bool {
	return c.w.lost || !c.w.ending.IsZero() && !c.w.clock.Now().Before(c.w.ending.Add(c.w.endsAfter))
}

func (c fakeCloud) Get(_ context.Context, id string) (*cloud.Instance, error) {
	if c.w.silent {
		return nil, errors.New("service unavailable")
	}
	if id != providerID || c.gone() {
		return nil, fmt.Errorf("get %s: %w", id, cloud.ErrNotFound)
	}
	return &cloud.Instance{ProviderID: id}, nil
}

func (c fakeCloud) Delete(_ context.Context, claim *apiv1.NodeClaim) error {
	if claim.Status.ProviderID != providerID || c.gone() {
		return fmt.Errorf("delete %s: %w", claim.Status.ProviderID, cloud.ErrNotFound)
	}
	if c.w.refuses != nil {
		return c.w.refuses
	}
	if c.w.ending.IsZero() {
		c.w.tell("instance ending")
		c.w.ending = c.w.clock.Now()
	}
	return nil
}
