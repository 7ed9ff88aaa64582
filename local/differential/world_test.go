package differential

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/daemon/util"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
	"github.com/karpenter-go/karpenter/internal/act"
)

// A world is the cluster that results from a plan, before the planned pods are bound. It has the nodes that stay, the launched
// nodes, the running pods, and the DaemonSet pods.
type world struct {
	snapshot *model.Snapshot
	nodes    []*corev1.Node
	pods     []*corev1.Pod
	// daemons are the pods that the DaemonSet controller adds.
	daemons []*corev1.Pod
	// complete is true if none of the daemons was refused.
	complete bool
	// target is the node of each placed pod, by the pod's key.
	target map[string]string
	// luck determines the choices of the cloud.
	luck luck
	// waiting are the placed pods before they are bound, in the plan's order.
	waiting []*corev1.Pod
	// defaults are the spread constraints that the scheduler applies to pods that have none, by pod key.
	defaults map[string][]corev1.TopologySpreadConstraint
}

// luck determines which of the types and offerings of a claim the cloud launches. Without dice, the cloud takes the option with
// the index turn, modulo the number of options. The cheapest option has the index 0.
type luck struct {
	dice *rand.Rand
	turn int
	// all is true if claims are launched even if no pod is planned for them.
	all bool
}

func choose[T any](l luck, choices []T) T {
	if l.dice == nil {
		return choices[l.turn%len(choices)]
	}
	return choices[l.dice.IntN(len(choices))]
}

// newWorld builds the cluster that results from the plan. Nodes that are being deleted, and their pods, are omitted.
func newWorld(s *model.Snapshot, plan *model.Plan, l luck) (*world, error) {
	w := &world{snapshot: s, luck: l, target: map[string]string{}}
	for _, pl := range plan.Placements {
		for _, p := range pl.Pods {
			w.target[p.Key] = pl.Node.Name
		}
	}
	for _, n := range s.Nodes() {
		if n.Deleting || !n.Launched() && !l.all && !w.expects(n) {
			continue // a claim without a planned pod may be launched after the pods are bound, in any of its domains
		}
		node, ok := w.standing(n, l)
		if !ok {
			continue
		}
		w.nodes = append(w.nodes, node)
		if err := w.settle(node, n.Pods); err != nil {
			return nil, err
		}
	}
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		node, err := launch(nameOfNew(i), n, l)
		if err != nil {
			return nil, err
		}
		w.nodes = append(w.nodes, node)
		if err := w.settle(node, nil); err != nil {
			return nil, err
		}
		for _, p := range n.Pods {
			w.target[p.Key] = node.Name
		}
	}
	order := plan.Order
	if order == nil {
		order = slices.DeleteFunc(s.Pods.Values(), func(p *model.Pod) bool { return w.target[p.Key] == "" })
	}
	for _, p := range order {
		waiting, err := unbound(p)
		if err != nil {
			return nil, err
		}
		w.waiting = append(w.waiting, waiting)
	}
	return w, nil
}

// expects reports whether the plan places a pod on the node.
func (w *world) expects(n *model.Node) bool {
	for _, name := range w.target {
		if name == n.Name {
			return true
		}
	}
	return false
}

// nameOfNew returns the name of the i-th launched node.
func nameOfNew(i int) string { return fmt.Sprintf("new-%d", i) }

// unbound returns the pod as it is before it is bound.
func unbound(p *model.Pod) (*corev1.Pod, error) {
	o, err := admit(p.Object)
	if err != nil {
		return nil, fmt.Errorf("pod %s is not valid: %w", p.Key, err)
	}
	o.Spec.NodeName = ""
	return o, nil
}

// settle adds the pods that run on the node, and the pods that the DaemonSet controller will create there. If a DaemonSet pod
// already runs on the node, none is added.
func (w *world) settle(node *corev1.Node, running []*model.Pod) error {
	complete := false
	for _, p := range running {
		complete = complete || p.Daemon()
		bound, err := admit(p.Object)
		if err != nil {
			return fmt.Errorf("pod %s is not valid: %w", p.Key, err)
		}
		bound.Spec.NodeName = node.Name
		w.pods = append(w.pods, bound)
	}
	if complete {
		return nil
	}
	daemons, err := daemonsOn(node, w.snapshot)
	w.daemons = append(w.daemons, daemons...)
	return err
}

// daemonsOn returns the pods that the DaemonSet controller puts on the node.
func daemonsOn(node *corev1.Node, s *model.Snapshot) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	for _, d := range s.Daemons() {
		if should, _ := daemon.NodeShouldRunDaemonPod(klog.Logger{}, node, d.Object); !should {
			continue
		}
		o := d.Object.DeepCopy()
		pod := daemon.NewPod(o, node.Name)
		pod.Name = o.Name + "-" + node.Name
		pod.Spec.Affinity = util.ReplaceDaemonSetPodNodeNameNodeAffinity(pod.Spec.Affinity, node.Name)
		stored, err := admit(pod)
		if err != nil {
			return nil, fmt.Errorf("daemon %s is not valid: %w", d.Key, err)
		}
		stored.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(o, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		out = append(out, stored)
	}
	return out, nil
}

// standing returns an existing or launched node as it will be when it is ready. A claim that is not launched becomes a node of
// one of its types. If it has no possible type, the result is false.
func (w *world) standing(n *model.Node, l luck) (*corev1.Node, bool) {
	if n.Launched() {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
		if !n.Registered {
			node.Labels = labelled(n.Name, n.Labels)
		}
		node.Spec.Taints = n.Taints
		node.Spec.Unschedulable = n.Object != nil && n.Object.Spec.Unschedulable
		node.Status.Capacity, node.Status.Allocatable = n.Capacity.List(), n.Allocatable.List()
		return node, true
	}
	wishes := model.Wishes(w.snapshot, n)
	ways := waysOf(w.snapshot.Types(n.Pool), wishes, false)
	if pool, ok := w.snapshot.Pool(n.Pool); ok { // the claim was created for that pool, unless the pool has changed
		both := wishes.And(pool.Requirements)
		if within := waysOf(w.snapshot.Types(n.Pool), both, false); len(within) > 0 {
			ways, wishes = within, both
		}
	}
	if len(ways) == 0 {
		return nil, false
	}
	return choose(l, ways).node(n.Name, n.Claim.Labels, wishes, n.Claim.Spec.Taints, l), true
}

// launch returns the node that a planned node becomes.
func launch(name string, n *model.PlannedNode, l luck) (*corev1.Node, error) {
	claim := act.ClaimFor(n, random.Labels)
	reqs := require.FromSpec(claim.Spec.Requirements).And(require.FromLabels(claim.Labels))
	ways := waysOf(n.Options, reqs, true)
	if len(ways) == 0 {
		return nil, fmt.Errorf("planned node %s of pool %s cannot be launched: no offering of its options meets %s",
			name, n.Pool.Name, reqs)
	}
	return choose(l, ways).node(name, claim.Labels, reqs, claim.Spec.Taints, l), nil
}

// A way is a type with one of its offerings.
type way struct {
	kind     *model.InstanceType
	offering model.Offering
}

// waysOf returns the ways to launch a node within reqs, cheapest first.
func waysOf(types []*model.InstanceType, reqs require.Set, available bool) []way {
	var out []way
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(reqs); !ok {
			continue
		}
		for _, o := range t.Offerings {
			if available && !o.Available {
				continue
			}
			if _, ok := o.Requirements.Intersects(reqs); ok {
				out = append(out, way{t, o})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b way) int {
		return cmp.Or(a.offering.Compare(b.offering), cmp.Compare(a.kind.Name, b.kind.Name))
	})
	return out
}

// node returns the node that is launched in this way. It has the labels of the claim, the type and the offering. If a type
// allows several values for a label, one that reqs allow is chosen.
func (w way) node(name string, claim map[string]string, reqs require.Set, taints []corev1.Taint, l luck) *corev1.Node {
	labels := maps.Clone(claim)
	if labels == nil {
		labels = map[string]string{}
	}
	for r := range w.kind.Requirements.And(w.offering.Requirements).All() {
		both := r
		if asked, ok := reqs.Get(r.Key()); ok {
			both, _ = require.NewSet(r, asked).Get(r.Key())
		}
		if both.Operator() == corev1.NodeSelectorOpIn && both.Len() > 0 {
			labels[r.Key()] = choose(l, both.Values())
		}
	}
	labels[apiv1.NodeRegisteredLabelKey], labels[apiv1.NodeInitializedLabelKey] = "true", "true"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labelled(name, labels)}}
	node.Spec.Taints = taints
	node.Status.Capacity, node.Status.Allocatable = w.kind.Capacity.List(), w.kind.Allocatable.List()
	return node
}

// labelled returns the labels with those that kubelet adds: the host name, and the deprecated keys of labels that have a new
// key.
func labelled(name string, labels map[string]string) map[string]string {
	out := map[string]string{corev1.LabelHostname: name}
	maps.Copy(out, labels)
	for old, stable := range random.Labels.Aliases {
		if v, ok := labels[stable]; ok {
			out[old] = v
		}
	}
	return out
}
