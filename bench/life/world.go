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

// A World is a cluster in virtual time. Make one with New.
type World struct {
	// Boot is how long a node takes from its launch until it takes pods.
	Boot time.Duration
	// Stagger is the most that a node takes beyond Boot.
	Stagger time.Duration
	// Lost is the share of pods without their nomination in any second; a scheduler erases them when a pod is tried before its
	// node is up. With 0 those that wait for a node that is not up yet leave room on others alone, too.
	Lost float64
	// Turns has the replacements of a command take their pods one after another.
	Turns bool
	// Options are those of disruption.
	Options disrupt.Options
	// Moved counts pods that were evicted, Launched nodes, Commands decisions that were carried out.
	Moved, Launched, Commands int
	// Refused is what the check of plans and commands objected to; a controller would not have carried those out.
	Refused []string
	// Told is called with a line for each event; nil to drop the lines.
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

// A node is capacity, up or on its way.
type node struct {
	claim  *apiv1.NodeClaim
	object *corev1.Node
	room   size
	free   size
	pods   map[string]bool
	apps   map[string]int
	price  float64
	up     time.Time // when it comes up
	joined bool
	// marked is when it was marked to go, zero if it was not; waits are the claims that have to be up before.
	marked time.Time
	waits  []string
	going  bool
}

// epoch is when worlds begin.
var epoch = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// New returns a world with a pool and its instance types, and nothing else.
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

// look returns the cluster as it is now.
func (w *World) look() *model.Snapshot {
	if !w.d.Empty() {
		w.s, w.d = w.s.Apply(w.d), model.Delta{}
	}
	return w.s.At(w.now).WithPromises(maps.Clone(w.promises))
}

func (w *World) tell(format string, args ...any) {
	if w.Told != nil {
		w.Told(fmt.Sprintf("%4.0fs  ", w.now.Sub(epoch).Seconds()) + fmt.Sprintf(format, args...))
	}
}

// Add makes a pod like the one given, under a name of its own, and returns it.
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

// remove takes a pod away.
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

// bind puts a pod on a node.
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

// touch notes that a pod came to the node, or went.
func (w *World) touch(n *node) {
	n.claim.Status.LastPodEventTime = metav1.Time{Time: w.now}
	condition.Clear(n.claim, apiv1.ConditionTypeConsolidatable)
	w.wrote(n)
}

// wrote shows the node and its claim to the next look.
func (w *World) wrote(n *node) {
	claim := n.claim.DeepCopy()
	w.d.Claims = slices.DeleteFunc(w.d.Claims, func(o *apiv1.NodeClaim) bool { return o.Name == claim.Name })
	w.d.Claims = append(w.d.Claims, claim)
	if n.joined {
		w.d.Nodes = slices.DeleteFunc(w.d.Nodes, func(o *corev1.Node) bool { return o.Name == n.object.Name })
		w.d.Nodes = append(w.d.Nodes, n.object.DeepCopy())
	}
}

// launch makes a claim as planned; its node comes up later.
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

// Price returns what all nodes cost, in dollars per hour.
func (w *World) Price() float64 {
	total := 0.0
	for _, n := range w.sorted() {
		total += n.price
	}
	return total
}

// Waiting returns how many pods have no node, Nodes how many nodes there are.
func (w *World) Waiting() int { return len(w.waiting()) }

// Nodes returns how many nodes there are, those on their way included.
func (w *World) Nodes() int { return len(w.nodes) }

// sorted returns the nodes in the order in which they were launched.
func (w *World) sorted() []*node {
	return slices.SortedFunc(maps.Values(w.nodes), func(a, b *node) int {
		return cmp.Or(cmp.Compare(len(a.claim.Name), len(b.claim.Name)), cmp.Compare(a.claim.Name, b.claim.Name))
	})
}

func key(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
