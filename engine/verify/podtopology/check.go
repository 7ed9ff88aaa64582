package podtopology

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// A Rule is a kind of constraint.
type Rule string

// The rules.
const (
	Spread       Rule = "spread"
	Affinity     Rule = "affinity"
	AntiAffinity Rule = "antiAffinity"
)

// A Violation is a pod that the plan places although one of the rules does not allow it.
type Violation struct {
	Rule   Rule
	Node   string // the name of the node
	Pod    string // namespace/name
	Detail string
}

// A Plan is the part of a plan that affects affinity, anti-affinity and spread constraints.
type Plan struct {
	// Nodes are all nodes of the cluster after the plan.
	Nodes []*Node
	// Order is the sequence in which planned pods are placed. Pods that it omits are placed afterwards.
	Order []*corev1.Pod
	// Elsewhere are bound pods on nodes that are not in Nodes, or that are being deleted. A DaemonSet that their
	// anti-affinity selects is uncertain.
	Elsewhere []*corev1.Pod
}

// Check returns the violations of all rules. Only planned pods are reported, even if the anti-affinity of another pod
// is broken.
func (rs *Rules) Check(p Plan) []Violation {
	if rs.Empty() {
		return nil
	}
	c := newCluster(rs, p.Nodes, rs.certainDaemonSets(p))
	newReplay(c).run(p.Order)
	return c.found
}

// certainDaemonSets returns the DaemonSets whose pods run on each node that they select. They are not Uncertain and have no
// required affinity, anti-affinity or spread constraints. No required anti-affinity of a bound pod or of another DaemonSet
// selects their pods.
func (rs *Rules) certainDaemonSets(p Plan) map[*DaemonSet]bool {
	sets := make(map[*DaemonSet]bool)
	excluding := make(map[string]*term)
	addTerms := func(pod *corev1.Pod) {
		for _, t := range rs.of(pod).antiAffinity {
			excluding[t.id] = t
		}
	}
	for _, n := range p.Nodes {
		for _, pod := range n.Running {
			addTerms(pod)
		}
		for _, d := range n.Daemons {
			if _, known := sets[d.Set]; !known {
				addTerms(d.Set.Pod)
				sets[d.Set] = !d.Set.Uncertain && rs.of(d.Set.Pod).none()
			}
		}
	}
	for _, pod := range p.Elsewhere {
		addTerms(pod)
	}
	for set, certain := range sets {
		for _, t := range excluding {
			certain = certain && !t.matches(set.Pod.Namespace, set.Pod.Labels)
		}
		sets[set] = certain
	}
	return sets
}

func (c *cluster) report(rule Rule, n *Node, pod *corev1.Pod, format string, args ...any) {
	c.found = append(c.found, Violation{Rule: rule, Node: n.Name, Pod: pod.Namespace + "/" + pod.Name, Detail: fmt.Sprintf(format, args...)})
}
