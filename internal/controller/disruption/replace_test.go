package disruption

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
)

// machine returns an instance type with one on-demand offering in one zone.
func machine(name string, cores int64, price float64) *cloud.InstanceType {
	t := &model.InstanceType{Name: name}
	t.Capacity = model.Resources{corev1.ResourceCPU: cores * 1000, corev1.ResourceMemory: cores << 32, corev1.ResourcePods: 110}
	t.Allocatable = t.Capacity
	labels := map[string]string{corev1.LabelTopologyZone: "a", apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand}
	t.Requirements = require.FromLabels(labels).And(require.FromLabels(map[string]string{corev1.LabelInstanceTypeStable: name}))
	t.Offerings = []model.Offering{{
		Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand, Price: price, Available: true, Requirements: require.FromLabels(labels),
	}}
	return t
}

// newDearWorld returns a world with one node whose pod fits on a cheaper type.
func newDearWorld(t *testing.T) *world {
	w := newWorld(t, "100%", 1)
	w.Cloud = &fakecloud.Cloud{Types: []*cloud.InstanceType{machine("large", 2, 0.1), machine("xlarge", 4, 0.4)}}
	pool := &apiv1.NodePool{}
	w.get("default", pool)
	pool.Spec.Template.Spec.NodeClassRef = fakecloud.Ref("default")
	pool.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}}
	w.update(pool)
	w.Cluster.Set(pool)
	for _, c := range w.claims() {
		c.Labels[corev1.LabelInstanceTypeStable], c.Labels[corev1.LabelTopologyZone] = "xlarge", "a"
		c.Labels[apiv1.CapacityTypeLabelKey] = apiv1.CapacityTypeOnDemand
		w.update(&c)
	}
	for _, n := range w.nodes() {
		n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelTopologyZone] = "xlarge", "a"
		n.Labels[apiv1.CapacityTypeLabelKey] = apiv1.CapacityTypeOnDemand
		n.Status.Capacity = machine("xlarge", 4, 0).Capacity.List()
		n.Status.Allocatable = n.Status.Capacity
		status := n.DeepCopy()
		w.update(&n)
		n.Status = status.Status
		w.updateStatus(&n)
	}
	w.watch()
	w.run("web", "node-0")
	return w
}

func (w *world) get(name string, o client.Object) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: name}, o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) update(o client.Object) {
	w.t.Helper()
	if err := w.client.Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) updateStatus(o client.Object) {
	w.t.Helper()
	if err := w.client.Status().Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// run adds a pod of one core that is bound to the node.
func (w *world) run(name, node string) { w.Cluster.Set(podOf(name, node)) }

// podOf returns a pod of one core that is bound to the node, or is pending if node is empty.
func podOf(name, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	if node == "" {
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	return pod
}

// replacement returns the claim that replaces another, nil if there is none.
func (w *world) replacement() *apiv1.NodeClaim {
	for _, c := range w.claims() {
		if c.Annotations[apiv1.ReplacesAnnotationKey] != "" {
			return &c
		}
	}
	return nil
}

// boot makes the replacement initialized.
func (w *world) boot(c *apiv1.NodeClaim) {
	w.t.Helper()
	c.Status.ProviderID = "fake:///new"
	condition.SetTrue(c, apiv1.ConditionTypeInitialized, w.clock.Now())
	w.updateStatus(c)
	labels := map[string]string{
		apiv1.NodePoolLabelKey: "default", apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
		corev1.LabelInstanceTypeStable: "large", corev1.LabelTopologyZone: "a",
		apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand,
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: labels}}
	node.Spec.ProviderID = "fake:///new"
	node.Status.Capacity = machine("large", 2, 0).Capacity.List()
	node.Status.Allocatable = node.Status.Capacity
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := w.client.Create(w.t.Context(), node); err != nil {
		w.t.Fatal(err)
	}
	w.watch()
}

// restart clears the state that the controller has in memory.
func (w *world) restart() { w.Controller.state = state{} }

func TestReplacementComesFirst(t *testing.T) {
	w := newDearWorld(t)
	w.pass(minInterval)
	r := w.replacement()
	if r == nil {
		t.Fatal("nothing was launched in the place of the dear node")
	}
	if got := r.Annotations[apiv1.ReplacedTypesAnnotationKey]; got != "xlarge/on-demand" {
		t.Errorf("replaced types are %q", got)
	}
	w.want(1, 0, 1)
	for range 3 {
		w.pass(poll)
		w.want(1, 0, 1) // the node is not deleted before its replacement is initialized
	}
	w.restart()
	w.get(r.Name, r)
	w.boot(r)
	w.pass(poll)
	w.want(1, 1, 1)
	if n := len(w.claims()); n != 2 {
		t.Errorf("%d claims, want the old one and its replacement", n)
	}
}

// Until the provider has current prices, no node is replaced by a cheaper one.
func TestOldPricesReplaceNothing(t *testing.T) {
	w := newDearWorld(t)
	current := false
	w.PricesCurrent = func() bool { return current }
	w.pass(minInterval)
	if r := w.replacement(); r != nil {
		t.Errorf("%s was launched by prices of the build", r.Name)
	}
	current = true
	w.pass(minInterval)
	if w.replacement() == nil {
		t.Error("nothing was launched when prices were current")
	}
}

// If the replacement fails, the mark is removed. The same command launches no second replacement.
func TestFailedReplacementTakesTheMarkBack(t *testing.T) {
	w := newDearWorld(t)
	w.pass(minInterval)
	r := w.replacement()
	w.Options.Paused = true
	r.Finalizers = nil
	w.update(r)
	if err := w.client.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	w.Cluster.Remove(r)
	w.pass(poll)
	w.want(0, 0, 0)
}

// If the cause of drift is gone before the replacement is initialized, the node stays and the replacement is deleted. That also
// holds after a restart.
func TestDriftThatIsTakenBack(t *testing.T) {
	w := newDearWorld(t)
	drift := func(drifted bool) {
		for _, c := range w.claims() {
			if c.Annotations[apiv1.ReplacesAnnotationKey] != "" {
				continue
			}
			condition.Clear(&c, apiv1.ConditionTypeConsolidatable)
			condition.Clear(&c, apiv1.ConditionTypeDrifted)
			if drifted {
				condition.SetTrueWithReason(&c, apiv1.ConditionTypeDrifted, "AMIDrift", "AMIDrift", w.clock.Now())
			}
			w.updateStatus(&c)
		}
		w.watch()
	}
	drift(true)
	w.pass(minInterval)
	r := w.replacement()
	if r == nil {
		t.Fatal("nothing was launched in the place of the drifted node")
	}
	w.pass(deletionDelay)
	w.want(1, 0, 1)
	drift(false)
	w.restart()
	w.get(r.Name, r)
	w.boot(r)
	w.pass(deletionDelay)
	w.want(0, 0, 0)
	w.pass(deletionDelay)
	w.want(0, 1, 0)
	w.get(r.Name, r)
	if r.DeletionTimestamp == nil {
		t.Errorf("the replacement %s stays", r.Name)
	}
}

// If a replacement is not initialized within ten minutes, the command is rolled back, as in upstream.
func TestReplacementIsGivenUp(t *testing.T) {
	w := newDearWorld(t)
	w.pass(minInterval)
	r := w.replacement()
	if r == nil {
		t.Fatal("nothing was launched in the place of the dear node")
	}
	r.Status.ProviderID = "fake:///new"
	condition.SetTrue(r, apiv1.ConditionTypeRegistered, w.clock.Now())
	w.updateStatus(r)
	w.watch()
	w.Options.Paused = true
	w.pass(9*time.Minute + 59*time.Second)
	w.want(1, 0, 1)
	w.pass(2 * time.Second)
	if marked, _, tainted := w.count(); marked != 0 || tainted != 0 {
		t.Errorf("%d marked and %d tainted after ten minutes, want none", marked, tainted)
	}
}

// takeMarksBack changes the world as if the command was rolled back while its replacement remained.
func (w *world) takeMarksBack() {
	w.t.Helper()
	for _, c := range w.claims() {
		if c.Annotations[apiv1.ReplacedByAnnotationKey] != "" {
			condition.Clear(&c, apiv1.ConditionTypeDisruptionReason)
			w.updateStatus(&c)
			delete(c.Annotations, apiv1.ReplacedByAnnotationKey)
			w.update(&c)
		}
	}
	for _, n := range w.nodes() {
		n.Spec.Taints = nil
		w.update(&n)
	}
	w.watch()
}

// A replacement that no pod needs is deleted after the rollback of its command.
func TestUnneededReplacementIsDeleted(t *testing.T) {
	w := newDearWorld(t)
	w.pass(minInterval)
	r := w.replacement()
	w.Options.Paused = true
	w.takeMarksBack()
	w.pass(poll)
	w.want(0, 1, 0)
	w.get(r.Name, r)
	if r.DeletionTimestamp == nil {
		t.Errorf("the replacement %s is still wanted", r.Name)
	}
}

// After the rollback of its command, a replacement that a pod uses or needs becomes an ordinary node.
func TestReplacementInUseStays(t *testing.T) {
	for name, use := range map[string]func(*world, *apiv1.NodeClaim){
		"a pod runs there": func(w *world, _ *apiv1.NodeClaim) { w.run("other", "new") },
		"a pod ran there": func(w *world, r *apiv1.NodeClaim) {
			w.get(r.Name, r)
			r.Status.LastPodEventTime = metav1.Time{Time: w.clock.Now()}
			w.updateStatus(r)
			w.watch()
		},
		"a pod that waits has no other place": func(w *world, _ *apiv1.NodeClaim) {
			pod := podOf("waits", "")
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1500m")
			w.Cluster.Set(pod)
			for _, name := range []string{"fills-1", "fills-2"} {
				w.run(name, "node-0")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newDearWorld(t)
			w.pass(minInterval)
			r := w.replacement()
			w.Options.Paused = true
			w.takeMarksBack()
			w.boot(r)
			use(w, r)
			w.pass(poll)
			w.want(0, 0, 0)
			if again := w.replacement(); again != nil {
				t.Errorf("claim %s still replaces %s", again.Name, again.Annotations[apiv1.ReplacesAnnotationKey])
			}
		})
	}
}

// After a failed validation, the node has a backoff, which is longer each time.
func TestTakenBackRests(t *testing.T) {
	w := newDearWorld(t)
	var backoffs []time.Duration
	for len(backoffs) < 3 {
		w.pass(minInterval)
		r := w.replacement()
		if r == nil {
			continue
		}
		// The replacement has far less capacity than its instance type.
		w.boot(r)
		n := &corev1.Node{}
		w.get("new", n)
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		w.updateStatus(n)
		w.watch()
		w.pass(poll)
		w.want(0, 0, 0)
		backoffs = append(backoffs, w.backoffs["node-0"].lasts)
		w.vanish(r, n)
	}
	if want := []time.Duration{minBackoff, 2 * minBackoff, 4 * minBackoff}; !slices.Equal(backoffs, want) {
		t.Errorf("node-0 backoffs %v, want %v", backoffs, want)
	}
}

// vanish deletes the objects at once.
func (w *world) vanish(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		w.get(o.GetName(), o)
		o.SetFinalizers(nil)
		w.update(o)
		if err := client.IgnoreNotFound(w.client.Delete(w.t.Context(), o)); err != nil {
			w.t.Fatal(err)
		}
		w.Cluster.Remove(o)
	}
}

// A pod that was bound before the taint has no room on the replacement. The mark is removed.
func TestLostPlaceTakesTheMarkBack(t *testing.T) {
	w := newDearWorld(t)
	w.pass(minInterval)
	r := w.replacement()
	w.Options.Paused = true
	for _, name := range []string{"late-1", "late-2"} {
		w.run(name, "node-0")
	}
	w.boot(r)
	w.pass(poll)
	w.want(0, 0, 0)
}

func TestCapPerMinute(t *testing.T) {
	w := newWorld(t, "100%", 5)
	w.Throttle = &throttle.Throttle{Settings: throttle.Limits{MaxDisruptions: 2}}
	w.pass(minInterval)
	w.want(2, 0, 2)
	w.pass(10 * time.Second)
	if marked, _, _ := w.count(); marked != 2 {
		t.Errorf("%d nodes were disrupted within a minute, 2 may", marked)
	}
	w.pass(time.Minute)
	if marked, _, _ := w.count(); marked != 4 {
		t.Errorf("%d nodes were disrupted within two minutes, 4 may", marked)
	}
}

// A node that could not be marked is not disrupted: it does not count for the limit per minute, and no decision is counted. It is
// tried again after a backoff.
func TestNodeThatCannotBeMarked(t *testing.T) {
	w := newWorld(t, "100%", 2)
	w.Throttle = &throttle.Throttle{Settings: throttle.Limits{MaxDisruptions: 2}}
	actor := w.Actor
	w.Actor = &act.Actor{Client: interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return apierrors.NewForbidden(schema.GroupResource{}, o.GetName(), errors.New("refused by a webhook"))
		},
	})}
	w.fails(minInterval)
	w.want(0, 0, 0)
	counted := w.Metrics.Disruption.DecisionsTotal.WithLabelValues("delete", "empty", "empty")
	if n := testutil.ToFloat64(counted); n != 0 {
		t.Errorf("%v decisions are counted, want none", n)
	}
	w.Actor = actor
	w.pass(minBackoff - time.Second)
	w.want(0, 0, 0)
	w.pass(time.Second)
	w.want(2, 0, 2)
	if n := testutil.ToFloat64(counted); n != 2 {
		t.Errorf("%v decisions are counted, want 2", n)
	}
}

// A node that changed while it was to be marked has no backoff: no disruption of it was cancelled. The next pass decides again.
func TestNodeThatChangedIsDecidedAgain(t *testing.T) {
	w := newWorld(t, "100%", 2)
	actor := w.Actor
	w.Actor = &act.Actor{Client: interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("changed"))
		},
	})}
	w.pass(minInterval)
	w.want(0, 0, 0)
	w.Actor = actor
	w.pass(time.Second)
	w.want(2, 0, 2)
}

// A pause prevents new disruptions. A pause of disruption prevents all voluntary ones. A pause of launches prevents those that
// need a replacement.
func TestPausedByTheThrottle(t *testing.T) {
	for name, limits := range map[string]throttle.Limits{
		"disruption": {PauseDisruption: true},
		"launches":   {PauseLaunches: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newDearWorld(t)
			w.Throttle = &throttle.Throttle{Settings: limits}
			w.pass(minInterval)
			w.pass(poll)
			w.want(0, 0, 0)
			if w.replacement() != nil {
				t.Error("a replacement was launched")
			}
			w.Throttle.Settings = throttle.Limits{}
			w.pass(poll)
			w.want(1, 0, 1)
		})
	}
}

// While launches are paused, nodes that need no replacement are disrupted.
func TestEmptyNodesGoWithoutLaunches(t *testing.T) {
	w := newWorld(t, "100%", 3)
	w.Throttle = &throttle.Throttle{Settings: throttle.Limits{PauseLaunches: true, MaxReplacements: 1}}
	w.pass(minInterval)
	w.want(3, 0, 3)
}

// Replacements per minute are limited. A command that needs more of them waits.
func TestReplacementsAMinute(t *testing.T) {
	o := newColony(t, 0)
	o.c.Throttle = &throttle.Throttle{Settings: throttle.Limits{MaxReplacements: 3}}
	o.pass()
	if o.made != 2 {
		t.Errorf("%d replacements within a minute, want the two of the first command: the next has two, and 3 may", o.made)
	}
	if held := testutil.ToFloat64(o.c.Metrics.Throttle.HeldBack.WithLabelValues("replacements")); held != 2 {
		t.Errorf("%v replacements are held back, want 2", held)
	}
	o.settle()
	o.clock.Step(time.Minute)
	o.settle()
	if wrong := o.wrong(); wrong != "" || o.made != 4 {
		t.Errorf("%d replacements in the end; %s", o.made, wrong)
	}
}

func TestDryRunDoesNothing(t *testing.T) {
	w := newWorld(t, "100%", 3)
	w.Options = disrupt.Options{Mode: apiv1.ModeDryRun}
	w.pass(minInterval)
	w.pass(poll)
	w.want(0, 0, 0)
}
