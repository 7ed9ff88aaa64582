package disruption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/controller/stagedmove"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A colony is a simulated cluster that changes between the passes of the controller: claims get nodes, deleted nodes are drained,
// pending pods are bound. Its controller can be killed after any write.
type colony struct {
	t      testing.TB
	clock  *clocktesting.FakeClock
	client client.Client
	c      *Controller
	turns  *stagedmove.Controller
	seen   map[string]client.Object
	boots  time.Duration          // time from the first observation of a claim until its node is initialized
	launch func(*apiv1.NodeClaim) // launches the instance of the claim; nil: the instance exists at once
	asked  map[string]time.Time   // when claims were first observed
	mu     sync.Mutex             // guards left and made: nodes are marked concurrently
	left   int                    // writes until the controller is killed
	made   int                    // claims that controllers have created
	joins  map[string]string      // additional labels of nodes that join
	short  int                    // new nodes that provisioning would have needed for pods that had to move
	stages []string               // number of closed nodes and of pending pods, after each change
}

// epoch is the time at which a colony begins.
var epoch = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

var errKilled = errors.New("connection refused")

// newColony returns a colony with two drifted nodes of four cores. Each has two pods, and a smaller node has room for one pod.
func newColony(t testing.TB, boots time.Duration) *colony {
	o := newEmptyColony(t, boots)
	for i := range 2 {
		o.drifted(i, "default")
	}
	o.start()
	return o
}

// newEmptyColony returns a colony without nodes. Its controller must still be started.
func newEmptyColony(t testing.TB, boots time.Duration) *colony {
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &colony{
		t: t, boots: boots, asked: map[string]time.Time{}, clock: clocktesting.NewFakeClock(epoch), left: -1,
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(poolOf("default")).
			WithStatusSubresource(&apiv1.NodeClaim{}).WithIndex(&corev1.Node{}, "spec.providerID", func(x client.Object) []string {
			n, _ := x.(*corev1.Node)
			return []string{n.Spec.ProviderID}
		}).Build(),
	}
}

// drifted adds a drifted node of the pool, with four cores and two pods.
func (o *colony) drifted(i int, pool string) {
	o.t.Helper()
	o.node(i, pool, machine("xlarge", 4, 0))
	claim := o.claim(fmt.Sprintf("claim-%d", i))
	condition.SetTrueWithReason(claim, apiv1.ConditionTypeDrifted, "NodePoolDrifted", "", o.clock.Now())
	o.must(o.client.Status().Update(o.t.Context(), claim))
	for k := range 2 {
		o.pod(fmt.Sprintf("web-%d-%d", i, k), fmt.Sprintf("node-%d", i))
	}
}

// node adds a node of the pool and the type.
func (o *colony) node(i int, pool string, of *cloud.InstanceType) {
	o.t.Helper()
	for _, x := range pair(i) {
		labels := x.GetLabels()
		labels[apiv1.NodePoolLabelKey] = pool
		labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone] = of.Name, "a"
		labels[apiv1.CapacityTypeLabelKey] = apiv1.CapacityTypeOnDemand
		if n, ok := x.(*corev1.Node); ok {
			n.Status.Capacity = of.Capacity.List()
			n.Status.Allocatable = n.Status.Capacity
		}
		o.must(o.client.Create(o.t.Context(), x))
	}
}

// poolOf returns a pool that is ready and whose budget allows every disruption.
func poolOf(name string) *apiv1.NodePool {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Spec.NodeClassRef = fakecloud.Ref("default")
	pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
	pool.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}}
	return pool
}

func (o *colony) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *colony) pod(name, node string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name + "@" + node)}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")},
	}}}
	o.must(o.client.Create(o.t.Context(), pod))
}

// start starts a controller with no state in memory but that of the API server.
func (o *colony) start() {
	write := func(f func() error) error {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.left == 0 {
			return errKilled
		}
		o.left--
		return f()
	}
	watched, ok := o.client.(client.WithWatch)
	if !ok {
		o.t.Fatal("the fake client cannot watch")
	}
	mortal := interceptor.NewClient(watched, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, x client.Object, opts ...client.CreateOption) error {
			return write(func() error {
				o.made++
				x.SetUID(types.UID(x.GetName())) // the API server does the same, also in the next line
				x.SetCreationTimestamp(metav1.Time{Time: o.clock.Now()})
				return c.Create(ctx, x, opts...)
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, x client.Object, opts ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, x, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, x client.Object, p client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, x, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, x client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return write(func() error { return c.SubResource(sub).Patch(ctx, x, p, opts...) })
		},
	})
	o.seen = map[string]client.Object{}
	actor := &act.Actor{Client: mortal, Labels: apiv1.CoreLabels(), Turns: true}
	o.c = &Controller{
		Cluster: observe.New(o.clock), Actor: actor,
		Cloud: &fakecloud.Cloud{Types: []*cloud.InstanceType{machine("large", 2, 0.1), machine("xlarge", 4, 0.4)}},
		Clock: o.clock, Events: silence{}, Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), nil),
	}
	o.turns = &stagedmove.Controller{Cluster: o.c.Cluster, Actor: actor, Clock: o.clock}
	o.show()
}

// show updates the controller's cluster to the state of the API server.
func (o *colony) show() {
	now := map[string]client.Object{}
	for _, x := range o.objects() {
		now[fmt.Sprintf("%T %s", x, x.GetName())] = x
		o.c.Cluster.Set(x)
	}
	for key, x := range o.seen {
		if now[key] == nil {
			o.c.Cluster.Remove(x)
		}
	}
	o.seen = now
}

func (o *colony) objects() (all []client.Object) {
	var pools apiv1.NodePoolList
	var pods corev1.PodList
	o.must(errors.Join(o.client.List(o.t.Context(), &pools), o.client.List(o.t.Context(), &pods)))
	for i := range pools.Items {
		all = append(all, &pools.Items[i])
	}
	for _, c := range o.claims() {
		all = append(all, &c)
	}
	for _, n := range o.nodes() {
		all = append(all, &n)
	}
	for i := range pods.Items {
		all = append(all, &pods.Items[i])
	}
	return all
}

func (o *colony) claims() []apiv1.NodeClaim {
	var list apiv1.NodeClaimList
	o.must(o.client.List(o.t.Context(), &list))
	return list.Items
}

func (o *colony) nodes() []corev1.Node {
	var list corev1.NodeList
	o.must(o.client.List(o.t.Context(), &list))
	return list.Items
}

// on returns the pods of the node. For "" it returns the pending pods.
func (o *colony) on(node string) []corev1.Pod {
	var list corev1.PodList
	o.must(o.client.List(o.t.Context(), &list))
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Spec.NodeName != node })
}

// pass reconciles once and then advances the cluster. It reports whether the controller was killed.
func (o *colony) pass() (dead bool) {
	o.clock.Step(poll)
	o.show()
	dead = o.dead(o.c.Reconcile(o.t.Context(), ctrl.Request{}))
	o.live()
	return dead || o.handOver()
}

// dead reports whether the controller was killed in the last pass.
func (o *colony) dead(_ ctrl.Result, err error) bool {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && o.left != 0 {
		o.t.Fatal(err)
	}
	return o.left == 0
}

// live launches nodes for new claims, removes deleted claims, and binds pending pods.
func (o *colony) live() {
	ctx := o.t.Context()
	for _, c := range o.claims() {
		node := o.nodeOf(&c)
		switch {
		case c.DeletionTimestamp == nil && node == nil:
			if o.asked[c.Name].IsZero() {
				o.asked[c.Name] = o.clock.Now()
			}
			if o.launch != nil {
				o.launch(&c)
				o.must(o.client.Get(ctx, client.ObjectKeyFromObject(&c), &c))
			}
			launched := o.launch == nil || c.Status.ProviderID != ""
			if launched && o.clock.Since(o.asked[c.Name]) >= o.boots {
				o.boot(&c)
			}
		case c.DeletionTimestamp == nil:
		case node != nil && len(o.on(node.Name)) > 0: // the pods are evicted now; the node is removed in a later call
			o.evict(node.Name)
		default:
			if node != nil {
				o.must(o.client.Delete(ctx, node))
			}
			c.Finalizers = nil
			o.must(o.client.Update(ctx, &c))
		}
	}
	for _, p := range o.on("") {
		for _, n := range o.nodes() {
			cores := n.Status.Allocatable.Cpu().MilliValue() - int64(len(o.on(n.Name)))*1500
			if len(n.Spec.Taints) == 0 && cores >= 1500 {
				o.must(o.client.Delete(ctx, &p))
				o.pod(p.Name, n.Name)
				break
			}
		}
	}
	for _, p := range o.on("") {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		o.must(o.client.Update(ctx, &p))
	}
}

func (o *colony) nodeOf(c *apiv1.NodeClaim) *corev1.Node {
	for _, n := range o.nodes() {
		if n.Spec.ProviderID == c.Status.ProviderID {
			return &n
		}
	}
	return nil
}

// boot makes the claim's node initialized at once.
func (o *colony) boot(c *apiv1.NodeClaim) {
	o.join(c)
	n := o.nodeOf(c)
	n.Labels[apiv1.NodeInitializedLabelKey] = "true"
	if c.Annotations[apiv1.MoveStageAnnotationKey] != "" && c.Annotations[apiv1.ReplacesAnnotationKey] != "" {
		n.Spec.Taints = append(n.Spec.Taints, apiv1.StagedMoveNoScheduleTaint())
	}
	o.must(o.client.Update(o.t.Context(), n))
	condition.SetTrue(c, apiv1.ConditionTypeInitialized, o.clock.Now())
	o.must(o.client.Status().Update(o.t.Context(), c))
}

// join makes the claim's node register.
func (o *colony) join(c *apiv1.NodeClaim) {
	if c.Status.ProviderID == "" {
		c.Status.ProviderID = "fake:///" + c.Name
	}
	o.must(o.client.Status().Update(o.t.Context(), c))
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-of-" + c.Name, Labels: map[string]string{
		apiv1.NodePoolLabelKey: c.Labels[apiv1.NodePoolLabelKey], apiv1.NodeRegisteredLabelKey: "true",
		corev1.LabelInstanceTypeStable: "large", corev1.LabelTopologyZone: "a", apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand,
	}}}
	maps.Copy(n.Labels, o.joins)
	n.Spec.ProviderID = c.Status.ProviderID
	n.Status.Capacity = machine("large", 2, 0).Capacity.List()
	n.Status.Allocatable = n.Status.Capacity
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	o.must(o.client.Create(o.t.Context(), n))
}

// settle runs one controller after another. Each is killed after the given number of writes. The last one runs until nothing
// changes.
func (o *colony) settle(kills ...int) {
	for _, writes := range kills {
		o.mu.Lock()
		o.left = writes
		o.mu.Unlock()
		for range 20 {
			if o.pass() {
				break
			}
		}
		o.mu.Lock()
		o.left = -1
		o.mu.Unlock()
		o.start()
	}
	for quiet, before := 0, ""; quiet < 3; {
		o.pass()
		now := o.versions()
		if quiet++; now != before {
			quiet, before = 0, now
		}
		if o.clock.Since(epoch) > time.Hour {
			o.t.Fatal("it never comes to rest")
		}
	}
}

// versions returns the resource versions of all objects. They change with each write.
func (o *colony) versions() string {
	var b strings.Builder
	for _, x := range o.objects() {
		b.WriteString(x.GetName() + "@" + x.GetResourceVersion() + " ")
	}
	return b.String()
}

// wrong describes the difference from the expected end: no drifted nodes, no marks, and one pod on each node. It returns "" if
// there is none.
func (o *colony) wrong() string {
	var wrong []string
	var pods corev1.PodList
	o.must(o.client.List(o.t.Context(), &pods))
	if n, want := len(o.claims()), len(pods.Items); n != want || len(o.nodes()) != want {
		wrong = append(wrong, fmt.Sprintf("%d claims and %d nodes are left for %d pods", n, len(o.nodes()), want))
	}
	for _, c := range o.claims() {
		if condition.IsTrue(&c, apiv1.ConditionTypeDrifted) {
			wrong = append(wrong, "the drifted "+c.Name+" is still there")
		}
		for _, key := range []string{apiv1.ReplacesAnnotationKey, apiv1.ReplacedByAnnotationKey, apiv1.ReceivesPodsFromAnnotationKey} {
			if c.Annotations[key] != "" {
				wrong = append(wrong, c.Name+" has "+key)
			}
		}
	}
	for _, n := range o.nodes() {
		if pods := len(o.on(n.Name)); len(n.Spec.Taints) > 0 || pods != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %d pods and taints %v", n.Name, pods, n.Spec.Taints))
		}
	}
	if o.short > 0 {
		wrong = append(wrong, fmt.Sprintf("pods waited for %d nodes beside those that were launched for them", o.short))
	}
	return strings.Join(wrong, "; ")
}
