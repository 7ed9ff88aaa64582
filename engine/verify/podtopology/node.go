package podtopology

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

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
	Planned []Pod
	// Daemons are DaemonSet pods that the node may run in the future.
	Daemons []Daemon

	// newCluster sets the fields below at the beginning of each check. They are not valid after it.
	index   int // index in the list of nodes
	groups  []*group
	domains map[string][]string // by topology key
}

// A Pod is a pod that the plan places.
type Pod struct {
	Object   *corev1.Pod
	Selector *nodematch.Selector
}

// Presence is how certain it is that a node will run a pod of a DaemonSet.
type Presence uint8

const (
	// Possible means that the node may run the pod or not.
	Possible Presence = iota
	// Certain means that the node runs the pod before any planned pod arrives.
	Certain
)

// A Daemon is a DaemonSet's pod on a node that does not run it yet.
type Daemon struct {
	Set *DaemonSet
	// Presence is Certain if labels, taints and resources of the node admit the pod. For a DaemonSet that is not
	// certain (see certainDaemonSets), Certain is treated as Possible.
	Presence Presence
}

// A DaemonSet represents its pods on nodes that do not run them yet.
type DaemonSet struct {
	// Pod is a pod of the DaemonSet that is not bound.
	Pod      *corev1.Pod
	Selector *nodematch.Selector
	// Uncertain is true if a host port or volume may exclude a pod of the DaemonSet from a node that the DaemonSet
	// selects. Check also treats a DaemonSet as uncertain if constraints about other pods may exclude it.
	Uncertain bool
}

// domain returns the sorted values that the topology key may have on the node, none if the node lacks the label.
// Without a hostname label, the node's name is its hostname.
func (n *Node) domain(key string) []string {
	known, ok := n.domains[key]
	if !ok {
		known = n.domainAmong(key, func(*nodematch.LabelSet) bool { return true })
		n.domains[key] = known
	}
	return known
}

// domainWith returns the values that the key may have on the node if a pod with the selector runs there.
func (n *Node) domainWith(selector *nodematch.Selector, key string) []string {
	if len(n.Labels) == 1 || len(n.domain(key)) < 2 {
		return n.domain(key)
	}
	return n.domainAmong(key, func(l *nodematch.LabelSet) bool { return l.MatchedBy(selector) })
}

func (n *Node) domainAmong(key string, include func(*nodematch.LabelSet) bool) []string {
	values := make(map[string]bool)
	for _, l := range n.Labels {
		if v, ok := l.Labels()[key]; ok && include(l) {
			values[v] = true
		}
	}
	if key == corev1.LabelHostname && len(values) == 0 {
		return []string{n.Name}
	}
	return slices.Sorted(maps.Keys(values))
}

// matchedBy reports whether the selector matches all label sets that the node may have.
func (n *Node) matchedBy(s *nodematch.Selector) bool {
	return !slices.ContainsFunc(n.Labels, func(l *nodematch.LabelSet) bool { return !l.MatchedBy(s) })
}

// certainDomain returns the domain in which pods on the node are counted as certain. If several values are possible, it
// is an artificial value that only pods of this node have. ok is false if the node lacks the label or may lack it.
func (n *Node) certainDomain(key string) (string, bool) {
	values := n.domain(key)
	switch {
	case len(values) == 0 || n.mayLack(key):
		return "", false
	case len(values) == 1:
		return values[0], true
	}
	return "(open) " + n.Name, true // no label value contains parentheses
}

// mayLack reports whether the node has no value of the key in one of its label sets. A node never lacks its hostname.
func (n *Node) mayLack(key string) bool {
	return key != corev1.LabelHostname && slices.ContainsFunc(n.Labels, func(l *nodematch.LabelSet) bool {
		_, ok := l.Labels()[key]
		return !ok
	})
}
