package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// events records published events.
type events []string

func (e *events) Publish(all ...telemetry.Event) {
	for _, x := range all {
		*e = append(*e, fmt.Sprintf("%s %s: %s", x.Object.(client.Object).GetName(), x.Reason, x.Message))
	}
}

// silence is a Timeline that records nothing.
type silence struct{}

func (silence) Decided(*model.Pod, time.Time, time.Time, bool, string) {}

// A world is a controller with its cluster, cloud and clock.
type world struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	client client.Client
	cloud  *fakecloud.Cloud
	events *events
	// refuse makes the creation of claims fail.
	refuse bool
	*Controller
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)), events: &events{}}
	w.client = fake.NewClientBuilder().WithScheme(api.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if !w.Cluster.Launches() {
				t.Errorf("%s is created while Launches returns false", o.GetName())
			}
			if w.refuse {
				return fmt.Errorf("quota exceeded")
			}
			o.SetUID(types.UID(o.GetName()))
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	w.cloud = &fakecloud.Cloud{Types: []*cloud.InstanceType{typeOf("small", 2, 0.1), typeOf("large", 8, 0.4)}}
	w.Controller = &Controller{
		Cluster: observe.New(w.clock), Actor: &act.Actor{Client: w.client, Labels: apiv1.CoreLabels()}, Cloud: w.cloud,
		Clock: w.clock, Events: w.events, Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), nil),
		Timeline: silence{}, Options: pack.Options{Labels: apiv1.CoreLabels()},
		BatchIdle: time.Second, BatchMax: 10 * time.Second,
	}
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool"}}
	pool.Spec.Template.Spec.NodeClassRef = fakecloud.Ref("class")
	pool.Spec.Template.Labels = map[string]string{"team": "blue"}
	pool.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue}}
	w.Cluster.Set(pool)
	return w
}

func typeOf(name string, cores int64, price float64) *cloud.InstanceType {
	t := &cloud.InstanceType{Name: name, Capacity: model.Resources{"cpu": cores * 1000, "memory": cores << 32, "pods": 110}}
	t.Allocatable = t.Capacity
	labels := map[string]string{corev1.LabelTopologyZone: "a", apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand}
	t.Offerings = []cloud.Offering{{
		Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand, Price: price, Available: true,
		Requirements: require.FromLabels(labels),
	}}
	labels[corev1.LabelInstanceTypeStable] = name
	t.Requirements = require.FromLabels(labels)
	return t
}

// pend adds n unschedulable pods of that many cores.
func (w *world) pend(name string, n, cores int64) {
	w.come(name, n, cores, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	})
}

// come adds n pods of that many cores with the given conditions.
func (w *world) come(name string, n, cores int64, conditions ...corev1.PodCondition) {
	for i := range n {
		key := fmt.Sprintf("%s-%d", name, i)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: key, Namespace: "default", UID: types.UID(key)}}
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI)},
		}}}
		p.Status.Conditions = conditions
		w.Cluster.Set(p)
	}
}

func (w *world) reconcile() time.Duration {
	w.t.Helper()
	r, err := w.Reconcile(w.t.Context(), ctrl.Request{})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.Cluster.Launches() {
		w.t.Error("it is said to be launching after the round")
	}
	return r.RequeueAfter
}

// claims returns all claims with the types in their requirements.
func (w *world) claims() []apiv1.NodeClaim {
	w.t.Helper()
	var list apiv1.NodeClaimList
	if err := w.client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

func (w *world) told(reason string) []string {
	return slices.DeleteFunc(slices.Clone(*w.events), func(e string) bool { return !strings.Contains(e, " "+reason+": ") })
}

func TestPodsBecomeClaims(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 2, 1)
	if wait := w.reconcile(); wait != time.Second {
		t.Fatalf("waits %v for more pods, want the idle second", wait)
	}
	w.clock.Step(time.Second)
	w.reconcile()
	claims := w.claims()
	if len(claims) != 1 {
		t.Fatalf("%d claims, want 1", len(claims))
	}
	c := claims[0]
	if c.GenerateName != "default-" || c.Labels["team"] != "blue" || c.Labels[apiv1.NodePoolLabelKey] != "default" ||
		c.Labels["fake.example.com/fakenodeclass"] != "class" {
		t.Errorf("claim is %s with labels %v", c.GenerateName, c.Labels)
	}
	if c.Annotations[apiv1.NodePoolHashAnnotationKey] == "" || len(c.OwnerReferences) != 1 || len(c.Finalizers) != 1 {
		t.Errorf("claim lacks hash, owner or finalizer: %v %v %v", c.Annotations, c.OwnerReferences, c.Finalizers)
	}
	if got := c.Spec.Resources.Requests.Cpu().String(); got != "2" {
		t.Errorf("claim requests %s cores, want 2", got)
	}
	if got := len(w.told(telemetry.EventNominated)); got != 2 {
		t.Errorf("%d pods were told their node, want 2", got)
	}
}

// A planned node is capacity in flight. A second round before the watch delivers the claim launches nothing more.
func TestNothingIsLaunchedTwice(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 2, 1)
	w.clock.Step(time.Second)
	for range 3 {
		w.reconcile()
		w.clock.Step(retry)
	}
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims, want 1", n)
	}
}

// Until the instance has joined, the event names the NodeClaim, because a Node of that name does not exist.
func TestNodeInFlightIsToldAsItsClaim(t *testing.T) {
	w := newWorld(t)
	w.pend("web", 1, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	w.pend("late", 1, 1)
	w.clock.Step(retry)
	w.reconcile()
	claims, told := w.claims(), w.told(telemetry.EventNominated)
	if len(claims) != 1 || len(told) < 2 {
		t.Fatalf("%d claims, told %q", len(claims), told)
	}
	for _, text := range told {
		if !strings.Contains(text, "nodeclaim/"+claims[0].Name) {
			t.Errorf("told %q, want nodeclaim/%s", text, claims[0].Name)
		}
	}
}

func TestBatchWindow(t *testing.T) {
	w := newWorld(t)
	for i := range int64(30) { // with a pod every half second, the batch is never idle
		w.pend(fmt.Sprintf("web-%d", i), 1, 1)
		w.reconcile()
		if len(w.claims()) > 0 {
			if waited := time.Duration(i) * 500 * time.Millisecond; waited != w.BatchMax {
				t.Errorf("the round began after %v, want %v", waited, w.BatchMax)
			}
			return
		}
		w.clock.Step(500 * time.Millisecond)
	}
	t.Error("no round began")
}

// If BatchIdle is longer than BatchMax, BatchMax alone ends a batch, also one of pods that were planned before. If one of them is zero, no
// pod waits.
func TestBatchWindowOfOddDurations(t *testing.T) {
	for _, tt := range []struct{ idle, most, want time.Duration }{
		{idle: time.Hour, most: 2 * time.Second, want: 2 * time.Second},
		{idle: 0, most: 10 * time.Second},
		{idle: time.Second, most: 0},
		{idle: -time.Second, most: -time.Second},
	} {
		t.Run(fmt.Sprintf("idle %v, at most %v", tt.idle, tt.most), func(t *testing.T) {
			w := newWorld(t)
			w.BatchIdle, w.BatchMax = tt.idle, tt.most
			w.pend("huge", 1, 1000)
			w.pend("web", 1, 1)
			if wait := w.reconcile(); tt.want > 0 && wait != tt.want {
				t.Errorf("the round begins after %v, want %v", wait, tt.want)
			}
			w.clock.Step(tt.want)
			if tt.want > 0 {
				w.reconcile()
			}
			if n := len(w.claims()); n != 1 {
				t.Fatalf("%d claims after the window, want 1", n)
			}
			w.clock.Step(glance)
			if wait, want := w.reconcile(), max(tt.want, leastPause)-glance; wait != want {
				t.Errorf("pods without a node are planned again after %v, want %v", wait, want)
			}
		})
	}
}

// A clock that was hours ahead is put back after a round. The next pods do not wait for hours.
func TestClockIsPutBack(t *testing.T) {
	w := newWorld(t)
	now := w.clock.Now()
	w.clock.Step(5 * time.Hour)
	w.pend("first", 1, 1)
	w.reconcile()
	w.clock.Step(w.BatchMax)
	w.reconcile()
	if n := len(w.claims()); n != 1 {
		t.Fatalf("%d claims, want 1", n)
	}
	w.clock.SetTime(now)
	w.pend("second", 64, 1) // more than the first node has room for
	w.reconcile()
	w.clock.Step(w.BatchMax)
	w.reconcile()
	if n := len(w.claims()); n < 2 {
		t.Errorf("%d claims when a batch has passed since the clock was put back, want more", n)
	}
}

// A slow scheduler has tried only one of several new pods. All of them form one batch with one plan, as long as pods keep coming.
func TestBatchOfPodsWithoutVerdict(t *testing.T) {
	w := newWorld(t)
	w.come("web", 3, 1)
	w.pend("first", 1, 1)
	w.clock.Step(900 * time.Millisecond)
	w.come("late", 2, 1)
	w.clock.Step(200 * time.Millisecond)
	w.reconcile()
	if n := len(w.claims()); n > 0 {
		t.Errorf("%d claims while pods come", n)
	}
	w.clock.Step(800 * time.Millisecond)
	w.reconcile()
	cores := int64(0)
	for _, c := range w.claims() {
		cores += c.Spec.Resources.Requests.Cpu().Value()
	}
	if cores != 6 {
		t.Errorf("claims for %d cores in one round, want those of all six pods", cores)
	}
}

// Pods that arrive after the first round, and that a slow scheduler has not tried, form one batch. It lasts at most BatchMax.
func TestLaterBatchOfPodsWithoutVerdict(t *testing.T) {
	w := newWorld(t)
	w.pend("first", 1, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	begun := w.clock.Now()
	for i := range 30 { // with a pod every half second, the batch is never idle
		w.come(fmt.Sprintf("web-%d", i), 1, 1)
		w.reconcile()
		if len(w.claims()) > 1 {
			if waited := w.clock.Since(begun); waited != w.BatchMax {
				t.Errorf("the second round began after %v, want %v", waited, w.BatchMax)
			}
			return
		}
		w.clock.Step(500 * time.Millisecond)
	}
	t.Error("no second round began")
}

func TestRefusalsAreTold(t *testing.T) {
	w := newWorld(t)
	w.pend("huge", 1, 64)
	w.clock.Step(time.Second)
	if wait := w.reconcile(); wait != retry {
		t.Errorf("looks again in %v, want %v", wait, retry)
	}
	told := w.told(telemetry.EventFailedScheduling)
	if len(told) != 1 || !strings.Contains(told[0], `NodePool "default": no instance type of the NodePool is large enough`) {
		t.Errorf("told %q", told)
	}
}

// When another kind of reason keeps a pod pending, the event comes at once, although the last one is not five minutes old.
func TestOtherReasonIsToldAtOnce(t *testing.T) {
	w := newWorld(t)
	sink := record.NewFakeRecorder(10)
	w.Events = telemetry.NewRecorder(sink, w.clock)
	ready, _ := w.Cluster.Snapshot().Pool("default")
	pool := ready.Object.DeepCopy()
	pool.Status.Conditions[0].Status = metav1.ConditionFalse
	w.Cluster.Set(pool)
	w.pend("huge", 1, 64)
	round := func() (told []string) {
		for range 3 {
			w.clock.Step(retry)
			w.reconcile()
		}
		for len(sink.Events) > 0 {
			told = append(told, <-sink.Events)
		}
		return told
	}
	if told := round(); len(told) != 1 || !strings.Contains(told[0], "is not ready") {
		t.Errorf("told %q", told)
	}
	w.Cluster.Set(ready.Object)
	if told := round(); len(told) != 1 || !strings.Contains(told[0], "no instance type of the NodePool is large enough") {
		t.Errorf("told %q once the NodePool is ready", told)
	}
}

// A pod whose affinity excludes nodes of NodePools gets neither a node nor an event. It is not counted as unschedulable.
func TestPodsThatOptOutAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "out", Namespace: "default", UID: "out"}}
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: apiv1.NodePoolLabelKey, Operator: corev1.NodeSelectorOpDoesNotExist}},
		}}}}}
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
	w.Cluster.Set(p)
	w.pend("web", 1, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	if got := testutil.ToFloat64(w.Metrics.Scheduler.UnschedulablePodsCount.WithLabelValues(w.Name())); got != 0 {
		t.Errorf("%v pods are counted as unschedulable", got)
	}
	for _, e := range *w.events {
		if strings.HasPrefix(e, "out ") {
			t.Errorf("event %q", e)
		}
	}
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims, want 1 for the other pod", n)
	}
}

// If the types of a pool cannot be listed, nodes of the other pools are planned.
func TestProviderErrorStopsNobody(t *testing.T) {
	w := newWorld(t)
	w.cloud.TypesErr = &cloud.NodeClassNotReadyError{Err: fmt.Errorf("no subnets")}
	w.pend("web", 1, 1)
	w.clock.Step(time.Second)
	w.reconcile()
	if len(w.claims()) != 0 {
		t.Error("launched without knowing the types")
	}
	w.cloud.TypesErr = nil
	w.clock.Step(retry)
	w.reconcile()
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims once the types are there, want 1", n)
	}
}

func TestFailedCreateIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.refuse = true
	w.pend("web", 1, 1)
	w.clock.Step(time.Second)
	if _, err := w.Reconcile(t.Context(), ctrl.Request{}); err == nil || !strings.Contains(err.Error(), "quota exceeded") {
		t.Errorf("error is %v, want the server's", err)
	}
	w.refuse = false
	w.clock.Step(retry)
	w.reconcile()
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims, want 1", n)
	}
}

// A faulty solver places a pod on a node whose taint the pod does not tolerate. The pod is removed from the plan and gets an
// event. The other pods of the batch are placed.
func TestUnsafePlacementDoesNotStopOthers(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelHostname: "n"}}}
	node.Status.Allocatable = model.Resources{"cpu": 8000, "memory": 16 << 30, "pods": 10}.List()
	node.Spec.Taints = []corev1.Taint{{Key: "private", Effect: corev1.TaintEffectNoSchedule}}
	w.Cluster.Set(node)
	w.Solve = func(s *model.Snapshot, o pack.Options) *model.Plan {
		if !o.Excluded["default/near-0"].OK() {
			return pack.Solve(s, o)
		}
		near, _ := s.Pods.Get("default/near-0")
		n, _ := s.NodeByName("n")
		o.Excluded = map[string]model.Verdict{near.Key: {Rule: model.RuleInvalid, Subject: "placed by hand"}}
		plan := pack.Solve(s, o)
		plan.Refusals = nil
		plan.Placements = append(plan.Placements, model.Placement{Node: n, Pods: []*model.Pod{near}})
		return plan
	}
	w.pend("near", 1, 2)
	w.pend("far", 1, 8)
	w.clock.Step(time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims, want 1 for the other pod", n)
	}
	if told := w.told(telemetry.EventFailedScheduling); len(told) != 1 || !strings.HasPrefix(told[0], "near-0 ") {
		t.Errorf("told %q, want the pod that is kept out", told)
	}
}

// A faulty solver plans a node for which no instance type exists. The pods of that node are refused. The other pods of the batch
// are placed.
func TestUnsafeNodeHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	w.Solve = func(s *model.Snapshot, o pack.Options) *model.Plan {
		plan := pack.Solve(s, o)
		for i := range plan.Nodes {
			if plan.Nodes[i].Pods[0].Key == "default/bad-0" {
				plan.Nodes[i].Options = nil
			}
		}
		return plan
	}
	w.pend("bad", 1, 8)
	w.pend("good", 1, 8)
	w.clock.Step(time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims, want 1 for the other pod", n)
	}
	if told := w.told(telemetry.EventFailedScheduling); len(told) != 1 || !strings.HasPrefix(told[0], "bad-0 ") {
		t.Errorf("told %q, want the pod of the node", told)
	}
	if n := testutil.ToFloat64(w.Metrics.Scheduler.PlanFaultsTotal.WithLabelValues(w.Name(), telemetry.FaultViolation)); n == 0 {
		t.Error("no violation is counted")
	}
}

// If the solver panics on some pods, the other pods are planned. The pods that cause the panic get an event and are excluded for
// failureTime.
func TestPanicHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	solves, fixed := 0, false
	w.Solve = func(s *model.Snapshot, o pack.Options) *model.Plan {
		solves++
		for _, p := range s.Pending() {
			if strings.HasPrefix(p.Key, "default/bad") && o.Excluded[p.Key].OK() && !fixed {
				panic("index out of range")
			}
		}
		return pack.Solve(s, o)
	}
	w.pend("bad", 2, 1)
	w.pend("good", 1, 8)
	w.clock.Step(time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 1 {
		t.Errorf("%d claims, want 1 for the other pod", n)
	}
	if told := w.told(telemetry.EventFailedScheduling); len(told) != 2 || !strings.Contains(told[0], "index out of range") {
		t.Errorf("told %q, want the pods that make planning fail", told)
	}
	if n := testutil.ToFloat64(w.Metrics.Scheduler.PlanFaultsTotal.WithLabelValues(w.Name(), telemetry.FaultPanic)); n != 1 {
		t.Errorf("%v panics are counted, want 1", n)
	}
	before := solves
	w.clock.Step(time.Minute)
	w.reconcile()
	if solves != before+1 {
		t.Errorf("%d plans in the next round, want 1: which pods make planning fail is known", solves-before)
	}
	fixed = true
	w.clock.Step(failureTime)
	w.reconcile()
	if told := w.told(telemetry.EventNominated); !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "bad-1 ") }) {
		t.Errorf("told %q once planning works, want a place for the pods that were left out", told)
	}
}
