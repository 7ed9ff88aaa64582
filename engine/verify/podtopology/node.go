package podtopology

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A Node is a node of the cluster after the plan.
type Node struct {
	Name string
	// Labels are all label sets that the node may have. An existing node has exactly one.
	Labels []*nodematch.LabelSet
	Taints []corev1.Taint
	// Running are the pods that already run on the node and remain there.
	Running []*corev1.Pod
	// Deleting is true if the node is being deleted. Its pods count for spread constraints and anti-affinity, as for
	// kube-scheduler. They do not meet the affinity of planned pods, and the node adds no domain to spread constraints.
	Deleting bool
	// Planned are the pods that the plan places on the node.
	Planned []*model.Pod
	// Daemons are DaemonSet pods that the node may run in the future.
	Daemons []Daemon

	// newReplay sets the field below at the beginning of each check.
	domains map[string]domain // by topology key
}

// A domain is what is known of the domain of a node for one topology key.
type domain struct {
	// values are the sorted values that the key may have on the node, none if the node lacks the label.
	values []string
	// certain is the domain in which pods on the node are counted as certain. If several values are possible, it is an
	// artificial value that only pods of this node have. If settled is false, there is no such domain: the node lacks the label
	// or may lack it.
	certain string
	settled bool
}

// A Daemon is a DaemonSet's pod on a node that does not run it yet.
type Daemon struct {
	// Pod is a pod of the DaemonSet that is not bound. It is the same on all nodes.
	Pod      *corev1.Pod
	Selector *nodematch.Selector
	// Certain is true if labels, taints, resources, ports and volumes admit the pod to the node. The pod is there before any
	// planned pod arrives, unless rules about other pods may exclude it (see mayExclude). If it is false, the node may run
	// the pod or not.
	Certain bool
}

// domain returns the domain of the node. A node without a hostname label has its name as hostname.
func (n *Node) domain(key string) domain {
	d, ok := n.domains[key]
	if ok {
		return d
	}
	d.values = n.valuesWith(nil, key)
	mayLack := slices.ContainsFunc(n.Labels, func(l *nodematch.LabelSet) bool {
		_, has := l.Labels()[key]
		return !has
	})
	d.settled = len(d.values) > 0 && (key == corev1.LabelHostname || !mayLack)
	if d.certain = "(open) " + n.Name; len(d.values) == 1 { // no label value contains parentheses
		d.certain = d.values[0]
	}
	n.domains[key] = d
	return d
}

// valuesWith returns the sorted values that the key may have on the node if a pod with the selector runs there.
func (n *Node) valuesWith(selector *nodematch.Selector, key string) []string {
	values := make(map[string]bool)
	for _, l := range n.Labels {
		if v, ok := l.Labels()[key]; ok && l.MatchedBy(selector) {
			values[v] = true
		}
	}
	if key == corev1.LabelHostname && len(values) == 0 {
		return []string{n.Name}
	}
	return slices.Sorted(maps.Keys(values))
}
