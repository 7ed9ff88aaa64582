package termination

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// After each step of the termination, the node and its claim have the expected state.
func TestStateOnTheWay(t *testing.T) {
	w := newWorld(t, leavingClaim(deadline(time.Minute)), pod("web"), attachment("a-data", "pv-data"),
		leavingNode(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{
				{Key: "other", Effect: corev1.TaintEffectNoExecute},
				{Key: apiv1.DisruptedTaintKey, Value: "old", Effect: corev1.TaintEffectNoExecute},
			}
		}))
	expect := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for _, c := range w.claim().Status.Conditions {
			if _, dependent := map[string]bool{"Launched": true, "Registered": true, "Initialized": true, "Ready": true}[c.Type]; !dependent {
				got[c.Type] = string(c.Status) + "/" + c.Reason
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("conditions after %s (-want +got):\n%s", w.clock.Since(epoch), diff)
		}
	}

	w.run(time.Second)
	taints := []corev1.Taint{{Key: "other", Effect: corev1.TaintEffectNoExecute}, apiv1.DisruptedNoScheduleTaint()}
	if diff := cmp.Diff(taints, w.node().Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if got := w.node().Labels[corev1.LabelNodeExcludeBalancers]; got != "karpenter" {
		t.Errorf("load balancers are told %q, want karpenter", got)
	}
	expect(map[string]string{"Drained": "Unknown/Draining"})

	w.run(10 * time.Second)
	expect(map[string]string{"Drained": "True/Drained", "VolumesDetached": "Unknown/AwaitingVolumeDetachment"})

	w.run(50 * time.Second)
	expect(map[string]string{
		"Drained": "True/Drained", "VolumesDetached": "False/TerminationGracePeriodElapsed",
		"InstanceTerminating": "True/InstanceTerminating",
	})
}

// After its instance is terminated, the claim has the condition InstanceTerminating, even if the cloud never accepted a request
// for it. A finalizer of another component may keep the Node, and then the claim must not count against disruption budgets.
func TestInstanceGoneIsTold(t *testing.T) {
	for name, change := range map[string]func(*corev1.Node){
		"ready": func(*corev1.Node) {}, "not ready": unready,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, leavingClaim(), leavingNode(change, func(n *corev1.Node) {
				n.Finalizers = append(n.Finalizers, "example.com/other")
			}))
			w.lost = true
			w.run(time.Second)
			if got := w.node().Finalizers; len(got) != 1 {
				t.Errorf("finalizers are %v, want the other one", got)
			}
			if !condition.IsTrue(w.claim(), apiv1.ConditionTypeInstanceTerminating) {
				t.Errorf("conditions are %v, want InstanceTerminating", w.claim().Status.Conditions)
			}
		})
	}
}

// The cloud does not list the instance of a node that is not ready. The pods of a node that is younger than two minutes are evicted,
// because the cloud may not list the instance yet. An older node is removed at once.
func TestInstanceNotListedYet(t *testing.T) {
	for age, evicted := range map[time.Duration]float64{time.Minute: 1, 3 * time.Minute: 0} {
		w := newWorld(t, leavingClaim(), pod("web"), leavingNode(unready, func(n *corev1.Node) {
			n.CreationTimestamp = metav1.NewTime(epoch.Add(-age))
		}))
		w.lost = true
		w.run(time.Second)
		if got := testutil.ToFloat64(w.controller.Metrics.Pods.EvictionRequestsTotal.WithLabelValues("200")); got != evicted {
			t.Errorf("%v evictions from a node of %v, want %v", got, age, evicted)
		}
	}
}

// The reason of a drain is that of the disruption, if there is one. It is empty in metrics if the claim is not known.
func TestCauseOfDrain(t *testing.T) {
	disrupted := leavingClaim()
	condition.SetTrueWithReason(disrupted, apiv1.ConditionTypeDisruptionReason, "Drifted", "", epoch)
	cancelled := leavingClaim()
	condition.SetFalse(cancelled, apiv1.ConditionTypeDisruptionReason, "Drifted", "", epoch)
	for name, tt := range map[string]struct {
		claim *apiv1.NodeClaim
		want  string
	}{
		"disrupted": {disrupted, "Drifted"}, "cancelled": {cancelled, "Forceful Termination"},
		"deleted": {leavingClaim(), "Forceful Termination"}, "no claim": {nil, ""},
	} {
		if got := cause(tt.claim); got != tt.want {
			t.Errorf("%s: the cause is %q, want %q", name, got, tt.want)
		}
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t, leavingNode(), leavingClaim(), pod("web"), pod("held"))
	w.budgetOpens["held"] = epoch.Add(100 * time.Millisecond)
	w.run(time.Hour)
	registry := prometheus.NewRegistry()
	m := w.controller.Metrics
	registry.MustRegister(m.Nodes.DrainedTotal, m.Nodes.TerminatedTotal, m.Nodes.TerminationDurationSeconds,
		m.Pods.DrainedTotal, m.Pods.EvictionRequestsTotal)
	want := `
# HELP karpenter_nodes_drained_total Nodes drained of their pods.
# TYPE karpenter_nodes_drained_total counter
karpenter_nodes_drained_total{nodepool="default"} 1
# HELP karpenter_nodes_terminated_total Nodes terminated.
# TYPE karpenter_nodes_terminated_total counter
karpenter_nodes_terminated_total{nodepool="default",zone="zone-a"} 1
# HELP karpenter_pods_drained_total Pods evicted or deleted by drains, by reason.
# TYPE karpenter_pods_drained_total counter
karpenter_pods_drained_total{reason="Forceful Termination"} 2
# HELP karpenter_pods_eviction_requests_total Eviction requests, by HTTP status of the response.
# TYPE karpenter_pods_eviction_requests_total counter
karpenter_pods_eviction_requests_total{code="200"} 2
karpenter_pods_eviction_requests_total{code="429"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "karpenter_nodes_drained_total",
		"karpenter_nodes_terminated_total", "karpenter_pods_drained_total", "karpenter_pods_eviction_requests_total"); err != nil {
		t.Error(err)
	}
	if got := testutil.CollectAndCount(m.Nodes.LifetimeDurationSeconds); got != 1 {
		t.Errorf("%d series of lifetimes, want 1", got)
	}
}

// If the cloud refuses to terminate the instance, the node and its claim have an event. The termination continues when the cloud
// accepts.
func TestRefusedTermination(t *testing.T) {
	node := leavingNode()
	w := newWorld(t, node, leavingClaim())
	w.refuses = errors.New("termination protection is enabled")
	var err error
	for range 10 {
		if _, err = w.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: nodeName}}); err != nil {
			break
		}
	}
	if !errors.Is(err, w.refuses) {
		t.Fatalf("the error is %v, want that of the cloud", err)
	}
	told := strings.Join(w.story, "\n")
	for _, name := range []string{nodeName, w.claim().Name} {
		want := "event " + name + " FailedTermination: Instance could not be terminated, the call is repeated: termination protection is enabled"
		if !strings.Contains(told, want) {
			t.Errorf("story lacks %q:\n%s", want, told)
		}
	}
	w.refuses = nil
	w.run(time.Hour)
	if w.node() != nil {
		t.Error("the node is still there")
	}
}

// A restart at any time and additional reconciles change nothing except the times of backoffs.
func TestTwiceIsHarmless(t *testing.T) {
	w := newWorld(t, leavingNode(), leavingClaim(), pod("web"), pod("logs", daemon))
	for range 200 {
		w.work()
		w.reconcile()
		w.controller.attempts.forget("node-uid")
		w.reconcile()
		if w.node() == nil {
			break
		}
		w.clock.Step(500 * time.Millisecond)
	}
	if w.node() != nil {
		t.Fatalf("the node is still there:\n%s", strings.Join(w.story, "\n"))
	}
	for _, line := range []string{"evicted web", "evicted logs", "instance ending"} {
		n := 0
		for _, s := range w.story {
			if strings.HasSuffix(s, " "+line) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%q happened %d times, want once", line, n)
		}
	}
}

func TestNotOurs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*corev1.Node)
	}{
		{"not being deleted", func(n *corev1.Node) { n.DeletionTimestamp = nil }},
		{"of another provider", func(n *corev1.Node) { delete(n.Labels, "example.com/testnodeclass") }}, // also its claim
		{"without our finalizer", func(n *corev1.Node) { n.Finalizers = []string{"example.com/other"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, leavingNode(tt.change), leavingClaim(), pod("web"))
			w.run(time.Minute)
			if len(w.story) != 0 || len(w.node().Spec.Taints) != 0 {
				t.Errorf("touched: taints %v, %q", w.node().Spec.Taints, w.story)
			}
		})
	}
}

// If a user removed the label of the node class from the node, its claim identifies the provider.
func TestLabelTakenOff(t *testing.T) {
	w := newWorld(t, leavingNode(func(n *corev1.Node) { delete(n.Labels, "example.com/testnodeclass") }),
		leavingClaim(func(c *apiv1.NodeClaim) {
			c.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: "example.com", Kind: "TestNodeClass", Name: "a"}
		}), pod("web"))
	w.run(time.Minute)
	if w.node() != nil {
		t.Errorf("the node keeps its finalizer: %q", w.story)
	}
}

// If another pod has taken the name of a pod, as in a StatefulSet, that other pod is not evicted.
func TestSuccessorIsNotEvicted(t *testing.T) {
	w := newWorld(t, leavingNode(), leavingClaim(), pod("db-0"))
	old := w.pods()[0]
	successor := old.DeepCopy()
	successor.UID, successor.Spec.NodeName = "another", "node-2"
	if err := w.tracker.Update(podsResource, successor, "default"); err != nil {
		t.Fatal(err)
	}
	d := &departure{node: w.node(), claim: w.claim(), now: w.clock.Now()}
	if hold, err := w.controller.evict(t.Context(), d, &old); hold != nil || err != nil {
		t.Errorf("got %v, %v; want the old pod to count as gone", hold, err)
	}
	if len(w.story) != 0 {
		t.Errorf("the successor was touched: %q", w.story)
	}
}

// A pod that the cache does not have is found before the instance is terminated.
func TestPodBehindTheCache(t *testing.T) {
	w := newWorld(t, leavingNode(), leavingClaim(), pod("late"))
	stale := newWorld(t, leavingNode(), leavingClaim())
	w.controller.Client = blind{Client: w.client, pods: stale.client}
	w.reconcile()
	if !w.ending.IsZero() || len(w.story) == 0 || w.story[0] != "0s evicted late" {
		t.Errorf("want the pod evicted first, got %q", w.story)
	}
}

// blind is a client that lists the pods of another world.
type blind struct {
	client.Client
	pods client.Client
}

func (b blind) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.PodList); ok {
		return b.pods.List(ctx, list, opts...)
	}
	return b.Client.List(ctx, list, opts...)
}

// Many pods are evicted in several short reconciles.
func TestBoundedReconcile(t *testing.T) {
	objects := []client.Object{leavingNode(), leavingClaim()}
	for i := range 2*maxRequests + 1 {
		objects = append(objects, pod(fmt.Sprintf("web-%03d", i)))
	}
	w := newWorld(t, objects...)
	for i, want := range []int{maxRequests, 2 * maxRequests, 2*maxRequests + 1} {
		result := w.reconcile()
		got := 0
		for _, p := range w.pods() {
			if p.DeletionTimestamp != nil {
				got++
			}
		}
		if got != want {
			t.Errorf("after reconcile %d: %d pods leave, want %d", i+1, got, want)
		}
		if more := want < 2*maxRequests+1; more && result.RequeueAfter == 0 {
			t.Errorf("reconcile %d does not ask for the next", i+1)
		}
	}
}

func TestWakesForNodesThatLeave(t *testing.T) {
	w := newWorld(t, leavingNode(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}})
	here := []ctrl.Request{{NamespacedName: types.NamespacedName{Name: nodeName}}}
	elsewhere := pod("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "node-2" })
	pending := pod("pending", func(p *corev1.Pod) { p.Spec.NodeName = "" })
	unnamed := leavingClaim(func(c *apiv1.NodeClaim) { c.Status.NodeName = "" })
	unlaunched := leavingClaim(func(c *apiv1.NodeClaim) { c.Status.NodeName, c.Status.ProviderID = "", "" })
	ctx := t.Context()
	for name, tt := range map[string]struct{ got, want []ctrl.Request }{
		"pod here":                 {w.controller.requestsOfPod(ctx, pod("web")), here},
		"pod on a node that stays": {w.controller.requestsOfPod(ctx, elsewhere), nil},
		"pod without a node":       {w.controller.requestsOfPod(ctx, pending), nil},
		"volume here":              {w.controller.requestsOfAttachment(ctx, attachment("a", "pv")), here},
		"claim with a node name":   {w.controller.requestsOfClaim(ctx, leavingClaim()), here},
		"claim with only an ID":    {w.controller.requestsOfClaim(ctx, unnamed), here},
		"claim not launched":       {w.controller.requestsOfClaim(ctx, unlaunched), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// silent is a recorder that publishes nothing.
type silent struct{}

func (silent) Publish(...telemetry.Event) {}

// Evictions of a node's pods run concurrently, at most requestsAtOnce of them.
func TestEvictionsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := []client.Object{leavingNode(), leavingClaim()}
		for i := range requestsAtOnce + 3 {
			objects = append(objects, pod(fmt.Sprint("pod-", i)))
		}
		w := newWorld(t, objects...)
		var mu sync.Mutex
		asked, under, most, enough := map[string]int{}, 0, 0, make(chan struct{})
		evict := func(_ context.Context, _ client.Client, _ string, o, _ client.Object, _ ...client.SubResourceCreateOption) error {
			mu.Lock()
			asked[o.GetName()]++
			under++
			if most = max(most, under); len(asked) == requestsAtOnce {
				close(enough)
			}
			mu.Unlock()
			<-enough // sequential evictions would wait forever
			mu.Lock()
			defer mu.Unlock()
			under--
			return nil
		}
		c := w.controller
		c.Client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{SubResourceCreate: evict})
		c.Events, c.atOnce = silent{}, 0
		w.reconcile()
		if len(asked) != requestsAtOnce+3 || most != requestsAtOnce {
			t.Errorf("%d pods were asked to leave, %d at once; want %d, %d at once", len(asked), most, requestsAtOnce+3, requestsAtOnce)
		}
	})
}
