package life

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A World is a simulated cluster in virtual time. It is created by New.
type World struct {
	// Boot is the time from the launch of a node until it accepts pods.
	Boot time.Duration
	// Stagger is the maximum additional time of a node beyond Boot.
	Stagger time.Duration
	// Lost is the fraction of pods that have no nomination in any second. kube-scheduler clears a nomination when it
	// tries the pod before its node has joined.
	Lost float64
	// Turns is true if the pods move to the replacements of a command in stages.
	Turns bool
	// Options are the options of disrupt.Decide.
	Options disrupt.Options
	// Moved is the number of evicted pods, Launched the number of launched nodes, and Commands the number of executed
	// commands.
	Moved, Launched, Commands int
	// Refused has the violations that the check of plans and commands found; a controller would not have executed
	// these.
	Refused []string
	// Told is called with a line for each event, if it is not nil.
	Told func(string)

	now      time.Time
	s        *model.Snapshot
	d        model.Delta
	nodes    map[string]*node
	pods     map[string]*corev1.Pod
	requests map[string]size
	promises map[string]string
	cursor   disrupt.Cursor
	made     int
}

// A node is a node that has joined or was launched.
type node struct {
	claim  *apiv1.NodeClaim
	object *corev1.Node
	room   size
	free   size
	pods   map[string]bool
	apps   map[string]int
	price  float64
	up     time.Time // time at which the node joins
	joined bool
	// marked is the time at which the node was marked for disruption, zero if it was not. waits are the names of the
	// claims that replace it. going is true once the node is being deleted.
	marked time.Time
	waits  []string
	going  bool
}

// epoch is the initial time of every World.
var epoch = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// New returns a World with only a NodePool and its instance types.
func New(pool *apiv1.NodePool, catalogue []*model.InstanceType) *World {
	w := &World{
		Boot: 2 * time.Second, Options: disrupt.Options{Pack: pack.Options{Labels: apiv1.CoreLabels()}},
		now: epoch, nodes: map[string]*node{}, pods: map[string]*corev1.Pod{}, requests: map[string]size{},
		promises: map[string]string{},
	}
	w.s = model.Compile(model.Delta{
		Pools: []*apiv1.NodePool{pool}, Types: map[string][]*model.InstanceType{pool.Name: catalogue},
	})
	return w
}

// look returns a snapshot of the current state.
func (w *World) look() *model.Snapshot {
	if !w.d.Empty() {
		w.s, w.d = w.s.Apply(w.d), model.Delta{}
	}
	return w.s.At(w.now).WithTargets(maps.Clone(w.promises))
}

func (w *World) tell(format string, args ...any) {
	if w.Told != nil {
		w.Told(fmt.Sprintf("%4.0fs  ", w.now.Sub(epoch).Seconds()) + fmt.Sprintf(format, args...))
	}
}

// Add creates a copy of the given pod with a new name, and returns it.
func (w *World) Add(like *corev1.Pod) *corev1.Pod {
	w.made++
	p := like.DeepCopy()
	p.Name, p.UID = fmt.Sprintf("%s-%d", like.Labels["app"], w.made), types.UID(fmt.Sprint("pod-", w.made))
	p.Spec.NodeName, p.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	yes := true
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: like.Labels["app"], UID: types.UID(like.Labels["app"]), Controller: &yes,
	}}
	p.CreationTimestamp = metav1.Time{Time: w.now}
	w.setPod(p)
	return p
}

func (w *World) setPod(p *corev1.Pod) {
	k := key(p)
	w.pods[k] = p
	w.requests[k] = sizeOf(model.RequestsOf(p.Spec.Containers[0].Resources.Requests))
	w.d.Pods = slices.DeleteFunc(w.d.Pods, func(o *corev1.Pod) bool { return key(o) == k })
	w.d.Pods = append(w.d.Pods, p)
}

// remove removes a pod.
func (w *World) remove(p *corev1.Pod) {
	k := key(p)
	if n := w.nodes[p.Spec.NodeName]; n != nil {
		n.free = n.free.plus(w.requests[k])
		n.apps[p.Labels["app"]]--
		delete(n.pods, k)
		w.touch(n)
	}
	delete(w.pods, k)
	delete(w.requests, k)
	delete(w.promises, k)
	w.d.Pods = slices.DeleteFunc(w.d.Pods, func(o *corev1.Pod) bool { return key(o) == k })
	w.d.Gone = append(w.d.Gone, model.Ref{Kind: model.KindPod, Key: k})
}

// bind binds a pod to a node.
func (w *World) bind(p *corev1.Pod, n *node) {
	p = p.DeepCopy()
	p.Spec.NodeName, p.Status.Phase, p.Status.Conditions = n.object.Name, corev1.PodRunning, nil
	n.free = n.free.minus(w.requests[key(p)])
	n.apps[p.Labels["app"]]++
	n.pods[key(p)] = true
	delete(w.promises, key(p))
	w.setPod(p)
	w.touch(n)
}

// touch sets lastPodEventTime of the node's claim, and removes the condition Consolidatable.
func (w *World) touch(n *node) {
	n.claim.Status.LastPodEventTime = metav1.Time{Time: w.now}
	condition.Clear(n.claim, apiv1.ConditionTypeConsolidatable)
	w.wrote(n)
}

// wrote adds the node and its claim, which have changed, to the Delta for the next snapshot.
func (w *World) wrote(n *node) {
	claim := n.claim.DeepCopy()
	w.d.Claims = slices.DeleteFunc(w.d.Claims, func(o *apiv1.NodeClaim) bool { return o.Name == claim.Name })
	w.d.Claims = append(w.d.Claims, claim)
	if n.joined {
		w.d.Nodes = slices.DeleteFunc(w.d.Nodes, func(o *corev1.Node) bool { return o.Name == n.object.Name })
		w.d.Nodes = append(w.d.Nodes, n.object.DeepCopy())
	}
}

// launch creates a planned claim, whose node joins later.
func (w *World) launch(r *model.PlannedNode) *node {
	w.Launched++
	name, t := fmt.Sprintf("n%d", w.Launched), r.Options[0]
	labels := maps.Clone(r.Pool.Labels)
	maps.Copy(labels, t.Requirements.Labels())
	maps.Copy(labels, r.Requirements.Labels())
	labels[apiv1.NodePoolLabelKey], labels[corev1.LabelInstanceTypeStable] = r.Pool.Name, t.Name
	labels[corev1.LabelTopologyZone], labels[apiv1.CapacityTypeLabelKey] = r.Offering.Zone, r.Offering.CapacityType
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: maps.Clone(labels)}}
	claim.CreationTimestamp = metav1.Time{Time: w.now}
	claim.Status.ProviderID = "life:///" + name
	claim.Status.Capacity, claim.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
	condition.SetTrue(claim, apiv1.ConditionTypeLaunched, w.now)
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	object.Labels[corev1.LabelHostname] = name
	object.Labels[apiv1.NodeRegisteredLabelKey], object.Labels[apiv1.NodeInitializedLabelKey] = "true", "true"
	object.Spec.ProviderID = claim.Status.ProviderID
	object.Status.Capacity, object.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
	object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n := &node{
		claim: claim, object: object, room: sizeOf(t.Allocatable), free: sizeOf(t.Allocatable), price: r.Price(),
		pods: map[string]bool{}, apps: map[string]int{}, up: w.now.Add(w.Boot),
	}
	if w.Stagger > 0 {
		h := fnv.New64a()
		h.Write([]byte(name))
		n.up = n.up.Add(time.Duration(h.Sum64() % uint64(w.Stagger)))
	}
	w.nodes[name] = n
	w.wrote(n)
	return n
}

// Price returns the price of all nodes, in dollars per hour.
func (w *World) Price() float64 {
	total := 0.0
	for _, n := range w.sorted() {
		total += n.price
	}
	return total
}

// Waiting returns the number of pods without a node.
func (w *World) Waiting() int { return len(w.waiting()) }

// Nodes returns the number of nodes, including launched ones that have not joined.
func (w *World) Nodes() int { return len(w.nodes) }

// sorted returns the nodes in the order in which they were launched.
func (w *World) sorted() []*node {
	return slices.SortedFunc(maps.Values(w.nodes), func(a, b *node) int {
		return cmp.Or(cmp.Compare(len(a.claim.Name), len(b.claim.Name)), cmp.Compare(a.claim.Name, b.claim.Name))
	})
}

func key(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
