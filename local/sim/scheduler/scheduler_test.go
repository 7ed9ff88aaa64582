package scheduler_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
	"github.com/karpenter-go/karpenter/local/sim/scheduler"
)

// A cluster is an API server with a scheduler. The test sets the time.
type cluster struct {
	t      testing.TB
	server *kubeapi.Server
	client client.Client
	actor  *scheduler.Scheduler
	now    time.Time
}

func newCluster(t testing.TB, seed uint64) *cluster {
	t.Helper()
	c := &cluster{t: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	c.server = kubeapi.New(kubeapi.Config{
		Scheme: scheme.Scheme, Kinds: kubeapi.BuiltIn(), Now: func() time.Time { return c.now }, Seed: 1,
	})
	var err error
	if c.client, err = c.server.Client(); err != nil {
		t.Fatal(err)
	}
	c.restart(seed)
	return c
}

// restart replaces the scheduler by a new one.
func (c *cluster) restart(seed uint64) {
	c.t.Helper()
	var err error
	if c.actor, err = scheduler.New(c.server, seed); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) create(objects ...client.Object) {
	c.t.Helper()
	for _, o := range objects {
		if err := c.client.Create(c.t.Context(), o); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) delete(o client.Object) {
	c.t.Helper()
	if err := c.client.Delete(c.t.Context(), o, client.GracePeriodSeconds(0)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) step() time.Time {
	c.t.Helper()
	next, err := c.actor.Step(c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	return next
}

func (c *cluster) pod(name string) *corev1.Pod {
	c.t.Helper()
	p, ok := kubeapi.Find[*corev1.Pod](c.server, "default", name)
	if !ok {
		c.t.Fatalf("no pod %s", name)
	}
	return p
}

// places returns the pods and their nodes, in order.
func (c *cluster) places() string {
	var all []string
	for _, p := range kubeapi.List[*corev1.Pod](c.server) {
		all = append(all, p.Name+"="+p.Spec.NodeName)
	}
	return strings.Join(all, " ")
}

func (c *cluster) wantPlaces(want string) {
	c.t.Helper()
	if got := c.places(); got != want {
		c.t.Errorf("pods are on %q, want %q", got, want)
	}
}

// nominate writes the nomination of a pod, as a program other than the scheduler does.
func (c *cluster) nominate(pod, node string) {
	c.t.Helper()
	p := c.pod(pod).DeepCopy()
	p.Status.NominatedNodeName = node
	if err := c.client.Status().Update(c.t.Context(), p); err != nil {
		c.t.Fatal(err)
	}
}

func list(cpu string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(cpu + "Gi"),
	}
}

// node returns a node in a zone, with one GiB of memory for each cpu.
func node(name, cpu, zone string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone},
	}}
	n.Status.Allocatable = list(cpu)
	n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("100")
	n.Status.Capacity = n.Status.Allocatable
	for _, f := range change {
		f(n)
	}
	return n
}

// pod returns a pod with the label app=a.
func pod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "a"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: list(cpu)},
		}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func priority(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }

func taint(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}}
}

func tolerate(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
}

func selectApp() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
}

func spread(p *corev1.Pod) {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selectApp(),
	}}
}

func apart(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: selectApp(),
		}},
	}}
}

func TestBindsByResources(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("big", "4", "z"), node("small", "2", "z"), pod("p1", "3"), pod("p2", "2"))
	if next := c.step(); !next.IsZero() {
		t.Errorf("more is due at %s although all pods are bound", next)
	}
	c.wantPlaces("p1=big p2=small")
}

func TestPrefersNodesWithMoreRoom(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("a", "4", "z"), node("b", "4", "z"), pod("p1", "1", func(p *corev1.Pod) { p.Spec.NodeName = "a" }), pod("p2", "1"))
	c.step()
	c.wantPlaces("p1=a p2=b")
}

func TestTriesPodsInOrder(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "2", "z"), pod("old", "1"))
	c.now = c.now.Add(time.Minute)
	c.create(pod("new", "1"), pod("important", "1", priority(10)))
	c.step()
	c.wantPlaces("important=n new= old=n")
}

func TestLeavesOthersAlone(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "8", "z"),
		pod("foreign", "1", func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }),
		pod("gated", "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }),
		pod("leaving", "1", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/f"} }),
		pod("over", "1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }))
	c.delete(c.pod("leaving").DeepCopy())
	if next := c.step(); !next.IsZero() {
		t.Errorf("more is due at %s", next)
	}
	c.wantPlaces("foreign= gated= leaving= over=")
	open := c.pod("gated").DeepCopy()
	open.Spec.SchedulingGates = nil
	if err := c.client.Update(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	c.step()
	c.wantPlaces("foreign= gated=n leaving= over=")
}

func TestEndedPodsTakeNoRoom(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "2", "z"), pod("job", "2"))
	c.step()
	c.create(pod("p", "2"))
	c.step()
	c.wantPlaces("job=n p=")
	ended := c.pod("job").DeepCopy()
	ended.Status.Phase = corev1.PodSucceeded
	if err := c.client.Status().Update(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	c.step()
	c.wantPlaces("job=n p=n")
}

func TestTaints(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "4", "z", taint), pod("p1", "1"), pod("p2", "1", tolerate))
	c.step()
	c.wantPlaces("p1= p2=n")
	free := &corev1.Node{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "n"}, free); err != nil {
		t.Fatal(err)
	}
	free.Spec.Taints = nil
	if err := c.client.Update(t.Context(), free); err != nil {
		t.Fatal(err)
	}
	c.step()
	c.wantPlaces("p1=n p2=n")
}

func TestSpread(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("a", "8", "za"), node("b", "2", "zb"))
	for i := range 4 {
		c.create(pod(fmt.Sprint("p", i), "1", spread))
	}
	c.create(pod("q", "1", spread))
	c.step()
	zones := map[string]int{}
	for _, p := range kubeapi.List[*corev1.Pod](c.server) {
		zones[p.Spec.NodeName]++
	}
	// Node b is full with two pods. maxSkew allows three pods on node a, so the fifth pod is bound there.
	if want := map[string]int{"a": 3, "b": 2}; !maps.Equal(zones, want) {
		t.Errorf("pods per node are %v, want %v", zones, want)
	}
	c.create(pod("r", "1", spread))
	c.step()
	if got := c.pod("r").Spec.NodeName; got != "" {
		t.Errorf("the pod that breaks the spread is on %s", got)
	}
}

func TestAntiAffinity(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("a", "8", "z"), node("b", "8", "z"), pod("p1", "1", apart), pod("p2", "1", apart), pod("p3", "1", apart))
	c.step()
	nodes := []string{c.pod("p1").Spec.NodeName, c.pod("p2").Spec.NodeName}
	if slices.Sort(nodes); !slices.Equal(nodes, []string{"a", "b"}) || c.pod("p3").Spec.NodeName != "" {
		t.Errorf("pods are on %s", c.places())
	}
	c.delete(c.pod("p1").DeepCopy())
	c.step()
	if c.pod("p3").Spec.NodeName == "" {
		t.Error("a pod was not tried again when the pod it avoids was gone")
	}
}

func near(p *corev1.Pod) {
	p.Labels = map[string]string{"app": "follower"}
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelTopologyZone, LabelSelector: selectApp(),
		}},
	}}
}

func TestAffinityWaitsForTheOtherPod(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("a", "8", "za"), node("b", "2", "zb"), pod("p1", "1", near))
	c.step()
	c.wantPlaces("p1=")
	c.create(pod("p2", "1", func(p *corev1.Pod) { p.Spec.NodeName = "b" }))
	c.step()
	c.wantPlaces("p1=b p2=b")
}

func TestSeesNewLabelsOfRunningPods(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "8", "z"), pod("p1", "1"))
	c.step()
	c.create(pod("p2", "1", apart))
	c.step()
	c.wantPlaces("p1=n p2=")
	other := c.pod("p1").DeepCopy()
	other.Labels = map[string]string{"app": "b"}
	if err := c.client.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	c.step()
	c.wantPlaces("p1=n p2=n")
}

func TestSameSeedSameBindings(t *testing.T) {
	run := func(seed uint64) string {
		c := newCluster(t, seed)
		for i := range 8 {
			c.create(node(fmt.Sprint("n", i), "64", "z"))
		}
		for i := range 32 {
			c.create(pod(fmt.Sprint("p", i), "1"))
			if i%8 == 0 {
				c.step()
			}
		}
		c.step()
		return c.places()
	}
	if a, b := run(1), run(1); a != b {
		t.Errorf("one seed gave %s and %s", a, b)
	}
	if a, b := run(1), run(2); a == b {
		t.Errorf("two seeds gave the same bindings: %s", a)
	}
}

func TestIdleStepsAreFree(t *testing.T) {
	c := newCluster(t, 1)
	c.create(node("n", "2", "z"), pod("p", "1"), pod("waits", "8"))
	next := c.step()
	if n := testing.AllocsPerRun(10, func() {
		if again := c.step(); !again.Equal(next) {
			t.Errorf("next changed from %s to %s", next, again)
		}
	}); n != 0 {
		t.Errorf("a step without changes allocates %v times", n)
	}
}

// A scheduler works in a testing/synctest bubble. The bubble ends only if the scheduler leaves no goroutine behind.
func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		c.create(node("a", "8", "za"), node("b", "8", "zb"))
		for i := range 6 {
			c.create(pod(fmt.Sprint("p", i), "1", spread, apart))
		}
		begin := time.Now()
		c.step()
		synctest.Wait()
		if d := time.Since(begin); d != 0 {
			t.Errorf("the step took %s of the bubble's time", d)
		}
		if got := strings.Count(c.places()+" ", "= "); got != 4 {
			t.Errorf("pods are on %s, want two with a node", c.places())
		}
	})
}
