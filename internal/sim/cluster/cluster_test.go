package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// start is when tests begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a cluster on virtual time, with a simple scheduler that binds pods immediately.
type world struct {
	t      testing.TB
	now    time.Time
	server *kubeapi.Server
	*Cluster
	// log has a line for each write since the beginning, for comparisons.
	log []string
}

func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	return newWorldWith(t, Options{Seed: seed})
}

func newWorldWith(t testing.TB, o Options) *world {
	t.Helper()
	w := &world{t: t, now: start}
	w.server = kubeapi.New(kubeapi.Config{Scheme: scheme.Scheme, Kinds: kubeapi.BuiltIn(), Seed: o.Seed, Now: func() time.Time { return w.now }})
	w.server.OnWrite(func(before, after client.Object) {
		o := after
		if o == nil {
			o = before
		}
		w.log = append(w.log, fmt.Sprintf("%s %s %s/%s %v", w.now.Format("15:04:05.000"), kindOf(o), o.GetNamespace(), o.GetName(), after == nil))
	})
	w.Cluster = New(w.server, o)
	return w
}

// run steps all actors for a duration of virtual time.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for {
		next := w.settle()
		if next.IsZero() || next.After(end) {
			w.now = end
			w.settle()
			return
		}
		if !next.After(w.now) {
			w.t.Fatalf("an actor is due at %s, which is not after now, %s", next, w.now)
		}
		w.now = next
	}
}

// settle steps the actors until nothing changes, and returns when the next actor is due.
func (w *world) settle() time.Time {
	w.t.Helper()
	for round := 0; ; round++ {
		before := len(w.log)
		var next time.Time
		for _, a := range w.Actors() {
			due, err := a.Step(w.now)
			if err != nil {
				w.t.Fatal(err)
			}
			next = earliest(next, due)
		}
		w.schedule()
		if len(w.log) == before {
			return next
		}
		if round > 500 {
			w.t.Fatalf("writes do not end; the last: %v", w.log[len(w.log)-5:])
		}
	}
}

// schedule binds each pending pod to a node. Of the nodes that its node affinity, its volumes and the taints of the node
// allow, it takes the one with the fewest pods.
func (w *world) schedule() {
	for _, pod := range w.podsOn("") {
		if !active(pod) {
			continue
		}
		var best *corev1.Node
		for _, node := range kubeapi.List[*corev1.Node](w.server) {
			if w.fits(pod, node) && (best == nil || len(w.podsOn(node.Name)) < len(w.podsOn(best.Name))) {
				best = node
			}
		}
		if best == nil || !w.selectNode(pod, best) {
			continue
		}
		c, err := w.server.Client()
		if err != nil {
			w.t.Fatal(err)
		}
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: best.Name}}
		if err := c.SubResource("binding").Create(w.t.Context(), pod, binding); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) fits(pod *corev1.Pod, node *corev1.Node) bool {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !ok || node.DeletionTimestamp != nil {
		return false
	}
	for _, pv := range w.Volumes.Of(pod) {
		if volume.CheckNodeAffinity(pv, node.Labels) != nil {
			return false
		}
	}
	_, taint := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	return !taint
}

// selectNode selects a node for the claims of a pod, and reports whether all are bound.
func (w *world) selectNode(pod *corev1.Pod, node *corev1.Node) bool {
	bound := true
	for _, name := range claimNames(pod) {
		claim, ok := kubeapi.Find[*corev1.PersistentVolumeClaim](w.server, pod.Namespace, name)
		if !ok {
			return false
		}
		if claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		bound = false
		if claim.Annotations[volume.AnnSelectedNode] == "" {
			claim = claim.DeepCopy()
			claim.Annotations = map[string]string{volume.AnnSelectedNode: node.Name}
			update(w, claim)
		}
	}
	return bound
}

func create[T client.Object](w *world, o T) T {
	w.t.Helper()
	stored, err := kubeapi.Create(w.server, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return stored
}

func update[T client.Object](w *world, o T) {
	w.t.Helper()
	if _, err := kubeapi.Update(w.server, o); err != nil {
		w.t.Fatal(err)
	}
}

// edit changes the spec or metadata of an object.
func edit[T client.Object](w *world, namespace, name string, f func(T)) {
	w.t.Helper()
	o := find[T](w, namespace, name).DeepCopyObject().(T)
	f(o)
	update(w, o)
}

func find[T client.Object](w *world, namespace, name string) T {
	w.t.Helper()
	o, ok := kubeapi.Find[T](w.server, namespace, name)
	if !ok {
		w.t.Fatalf("%T %s/%s does not exist", o, namespace, name)
	}
	return o
}

func (w *world) remove(o client.Object) {
	w.t.Helper()
	if err := kubeapi.Delete(w.server, o); err != nil {
		w.t.Fatal(err)
	}
}

// evict requests the eviction of a pod, and reports whether the server accepted it.
func (w *world) evict(pod *corev1.Pod) bool {
	w.t.Helper()
	c, err := w.server.Client()
	if err != nil {
		w.t.Fatal(err)
	}
	err = c.SubResource("eviction").Create(w.t.Context(), pod, newEviction(pod))
	if err != nil && !apierrors.IsTooManyRequests(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

// addNode creates a node as a kubelet registers it.
func (w *world) addNode(name, zone string, taints ...corev1.Taint) *corev1.Node {
	return create(w, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{kwokNode: "fake"},
			Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone},
		},
		Spec: corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady"}},
		},
	})
}

// podsOf returns the pods of a workload.
func (w *world) podsOf(app string) []*corev1.Pod {
	return slices.DeleteFunc(kubeapi.List[*corev1.Pod](w.server), func(p *corev1.Pod) bool { return p.Labels[appLabel] != app })
}

// readyPods returns how many pods of a workload are ready and not being deleted.
func (w *world) readyPods(app string) int {
	n := 0
	for _, p := range w.podsOf(app) {
		if ok, _ := podReady(p); ok && active(p) {
			n++
		}
	}
	return n
}

func (w *world) wantReady(app string, want int) {
	w.t.Helper()
	if got := w.readyPods(app); got != want {
		w.t.Fatalf("%d pods of %s are ready, want %d", got, app, want)
	}
}

// hasTaint reports whether a node has a taint.
func hasTaint(node *corev1.Node, key string, effect corev1.TaintEffect) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key && t.Effect == effect })
}
