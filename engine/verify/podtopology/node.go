package podtopology

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A Node is a node of the cluster that a plan leads to.
type Node struct {
	Name string
	// Labels are all label sets that the node may have: one if it exists, one or more if it does not.
	Labels []*nodematch.LabelSet
	Taints []corev1.Taint
	// Running are the pods that run on the node already and stay.
	Running []*corev1.Pod
	// Planned are the pods that the plan puts on the node.
	Planned []Pod
	// Daemons are the pods of DaemonSets that the node does not run yet and may get.
	Daemons []Daemon

	// The fields below are those of one check.
	index   int // in the list of nodes
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

// A Daemon is the pod of a DaemonSet on a node that does not run it yet.
type Daemon struct {
	Set *DaemonSet
	// Presence is Certain if the node's labels, taints and resources leave no doubt. The pod of a DaemonSet that is uncertain is
	// Possible in any case.
	Presence Presence
}

// A DaemonSet stands for its pods on nodes that do not run them yet.
type DaemonSet struct {
	// Pod is a pod of the DaemonSet, without a node.
	Pod      *corev1.Pod
	Selector *nodematch.Selector
	// Uncertain means that a host port or a volume may keep a pod of the DaemonSet off a node that it selects. A DaemonSet is also
	// uncertain if a rule about other pods may do so: Check finds that out.
	Uncertain bool
}

// domain returns the values that the topology key may have on the node, sorted; none if the node lacks the label. Every node has
// a host name of its own.
func (n *Node) domain(key string) []string {
	known, ok := n.domains[key]
	if !ok {
		known = n.domainAmong(key, func(*nodematch.LabelSet) bool { return true })
		n.domains[key] = known
	}
	return known
}

// domainWith returns the values that the key may have if the node runs a pod with the selector.
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

// matchedBy reports whether the selector matches the node whichever labels it gets.
func (n *Node) matchedBy(s *nodematch.Selector) bool {
	return !slices.ContainsFunc(n.Labels, func(l *nodematch.LabelSet) bool { return !l.MatchedBy(s) })
}

// certainDomain returns the value of the topology key by which pods are certain to share a domain with the node. If the value is
// open, that is a made-up value of the node's own: only pods on the same node are certain to share it. It returns false if the node
// may lack the label.
func (n *Node) certainDomain(key string) (string, bool) {
	values := n.domain(key)
	switch {
	case len(values) == 0:
		return "", false
	case len(values) == 1:
		return values[0], true
	}
	for _, l := range n.Labels {
		if _, ok := l.Labels()[key]; !ok {
			return "", false
		}
	}
	return "(open) " + n.Name, true // no label value has parentheses
}
