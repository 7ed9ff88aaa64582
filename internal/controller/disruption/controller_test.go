package disruption

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

type silence struct{}

func (silence) Publish(...telemetry.Event) {}

// A world is the controller with a pool of empty nodes that are all consolidatable.
type world struct {
	t     *testing.T
	clock *clocktesting.FakeClock
	*Controller
	client client.Client
}

func newWorld(t *testing.T, budget string, nodes int) *world {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption = apiv1.Disruption{
		ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: budget}},
	}
	objects := []client.Object{pool}
	for i := range nodes {
		objects = append(objects, pair(i)...)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&apiv1.NodeClaim{}).Build()
	w := &world{t: t, clock: clock, client: c}
	w.Controller = &Controller{
		Cluster: observe.New(clock), Actor: &act.Actor{Client: c}, Cloud: &fakecloud.Cloud{}, Clock: clock,
		Events: silence{}, Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), nil),
	}
	w.Cluster.Set(pool)
	w.watch()
	return w
}

// pair returns an initialized node and its claim.
func pair(i int) []client.Object {
	labels := map[string]string{
		apiv1.NodePoolLabelKey: "default", apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
	}
	id := fmt.Sprintf("fake:///%d", i)
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("claim-%d", i), UID: types.UID(id), Labels: labels, Finalizers: []string{apiv1.TerminationFinalizer},
	}}
	claim.Status.ProviderID = id
	claim.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeConsolidatable, Status: metav1.ConditionTrue}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: labels}}
	node.Spec.ProviderID = id
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return []client.Object{claim, node}
}

// watch passes the state of the world to the controller, as informers would.
func (w *world) watch() {
	for _, c := range w.claims() {
		w.Cluster.Set(&c)
	}
	for _, n := range w.nodes() {
		w.Cluster.Set(&n)
	}
}

func (w *world) claims() []apiv1.NodeClaim {
	var list apiv1.NodeClaimList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

func (w *world) nodes() []corev1.Node {
	var list corev1.NodeList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// pass advances the clock and reconciles once.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.clock.Step(d)
	if _, err := w.Reconcile(w.t.Context(), ctrl.Request{}); err != nil {
		w.t.Fatal(err)
	}
	w.watch()
}

// fails is pass for a Reconcile that returns an error.
func (w *world) fails(d time.Duration) {
	w.t.Helper()
	w.clock.Step(d)
	if _, err := w.Reconcile(w.t.Context(), ctrl.Request{}); err == nil {
		w.t.Error("the pass has no error")
	}
	w.watch()
}

// count returns how many claims are marked, how many are being deleted, and how many nodes are tainted.
func (w *world) count() (marked, deleting, tainted int) {
	for _, c := range w.claims() {
		if condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason) {
			marked++
		}
		if c.DeletionTimestamp != nil {
			deleting++
		}
	}
	for _, n := range w.nodes() {
		tainted += len(n.Spec.Taints)
	}
	return marked, deleting, tainted
}

func (w *world) want(marked, deleting, tainted int) {
	w.t.Helper()
	if m, d, t := w.count(); m != marked || d != deleting || t != tainted {
		w.t.Errorf("%d marked, %d deleting, %d tainted; want %d, %d, %d", m, d, t, marked, deleting, tainted)
	}
}

// A node whose last pods ended just before the decision is not consolidatable any more when its deletion is due. It is kept, and
// the next attempt follows without a backoff once it is consolidatable again.
func TestNodeThatHasJustBecomeEmptyWaits(t *testing.T) {
	w := newWorld(t, "100%", 3)
	setConsolidatable := func(on bool) {
		t.Helper()
		claim := w.claims()[0]
		if on {
			condition.SetTrue(&claim, apiv1.ConditionTypeConsolidatable, w.clock.Now())
		} else {
			condition.Clear(&claim, apiv1.ConditionTypeConsolidatable)
		}
		w.updateStatus(&claim)
		w.watch()
	}
	w.pass(minInterval)
	w.want(3, 0, 3)
	setConsolidatable(false)
	w.pass(deletionDelay)
	w.want(2, 2, 2)
	setConsolidatable(true)
	w.pass(minInterval)
	w.want(3, 2, 3)
}

func TestEmptyNodesGoInTwoSteps(t *testing.T) {
	w := newWorld(t, "100%", 3)
	w.pass(minInterval)
	w.want(3, 0, 3)
	w.pass(minInterval)
	w.want(3, 0, 3) // not deleted before deletionDelay has passed
	w.pass(deletionDelay)
	w.want(3, 3, 3)
}

// After a pass that took long, the next one is delayed. Disruptions that it began continue without that delay.
func TestWhatWasBegunGoesOn(t *testing.T) {
	w := newWorld(t, "100%", 1)
	slow := func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
		w.clock.Step(10 * time.Second)
		return c.Patch(ctx, o, p, opts...)
	}
	w.Actor = &act.Actor{Client: interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{Patch: slow})}
	began := w.clock.Now()
	w.pass(minInterval)
	w.want(1, 0, 1)
	if w.clock.Since(began) < 10*time.Second {
		t.Fatal("the pass took no time")
	}
	w.pass(deletionDelay)
	w.want(1, 1, 1)
}

func TestBudgetLetsOneGoAtATime(t *testing.T) {
	w := newWorld(t, "1", 3)
	for range 5 {
		w.pass(deletionDelay)
		if m, d, _ := w.count(); m > 1 || d > 1 {
			t.Fatalf("%d marked and %d deleting at a time, the budget allows 1", m, d)
		}
	}
	w.want(1, 1, 1)
}

// If a pod was bound just before the taint, the mark is removed.
func TestMarkIsTakenBack(t *testing.T) {
	w := newWorld(t, "100%", 1)
	w.pass(minInterval)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: "default", UID: "late"}}
	pod.Spec.NodeName = "node-0"
	w.Cluster.Set(pod)
	w.pass(deletionDelay)
	w.want(0, 0, 0)
}

// After a crash between the two writes of a mark, the partial mark is removed or completed.
func TestHalfMarksAreTakenBack(t *testing.T) {
	w := newWorld(t, "0", 2)
	nodes, claims := w.nodes(), w.claims()
	nodes[0].Spec.Taints = []corev1.Taint{apiv1.DisruptedNoScheduleTaint()}
	if err := w.client.Update(t.Context(), &nodes[0]); err != nil {
		t.Fatal(err)
	}
	condition.SetTrueWithReason(&claims[1], apiv1.ConditionTypeDisruptionReason, "Empty", "Empty", w.clock.Now())
	if err := w.client.Status().Update(t.Context(), &claims[1]); err != nil {
		t.Fatal(err)
	}
	w.watch()
	w.want(1, 0, 1)
	w.pass(minInterval)
	w.want(0, 0, 0)
}

// Upstream Karpenter marks nodes with the same condition and taint, but stores in memory which claims replace them. Its marks are
// removed, even those of forced reasons, because its replacements may not exist.
func TestMarksOfAnotherControllerAreRemoved(t *testing.T) {
	reasons := []apiv1.DisruptionReason{
		apiv1.DisruptionReasonUnhealthy, apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonUnderutilized,
	}
	w := newWorld(t, "0", len(reasons))
	for i, c := range w.claims() {
		c.Annotations = map[string]string{apiv1.DisruptionBegunAnnotationKey: "2026-01-05T11:00:00Z"} // of an earlier disruption
		w.update(&c)
		condition.SetTrueWithReason(&c, apiv1.ConditionTypeDisruptionReason, string(reasons[i]), string(reasons[i]), w.clock.Now())
		w.updateStatus(&c)
	}
	for _, n := range w.nodes() {
		n.Spec.Taints = []corev1.Taint{apiv1.DisruptedNoScheduleTaint()}
		w.update(&n)
	}
	w.watch()
	w.want(4, 0, 4)
	w.pass(deletionDelay)
	w.want(0, 0, 0)
	w.pass(poll)
	w.want(0, 0, 0)
}

// If only the Node object is being deleted, and its claim is neither marked nor deleted yet, the node keeps its taint. A pod that
// is bound to it in the meantime would be evicted at once.
func TestTaintOfDeletedNodeStays(t *testing.T) {
	w := newWorld(t, "0", 1)
	node := w.nodes()[0]
	node.Spec.Taints, node.Finalizers = []corev1.Taint{apiv1.DisruptedNoScheduleTaint()}, []string{apiv1.TerminationFinalizer}
	if err := w.client.Update(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), &node); err != nil {
		t.Fatal(err)
	}
	w.watch()
	w.pass(minInterval)
	w.want(0, 0, 1)
}
