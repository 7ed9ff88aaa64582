package podtopology

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// A Rule names the rule about other pods that a violation breaks.
type Rule uint8

// The rules.
const (
	Spread Rule = iota
	Affinity
	AntiAffinity
)

// A Violation is a pod that the plan puts where one of the rules does not hold.
type Violation struct {
	Rule   Rule
	Node   string // the name of the node
	Pod    string // namespace/name
	Detail string
}

// A Plan is the part of a plan that rules about other pods depend on.
type Plan struct {
	// Nodes are all nodes of the cluster that the plan leads to.
	Nodes []*Node
	// Order holds the planned pods in the order in which they are to be placed. It may lack some of them, or all.
	Order []*corev1.Pod
	// Elsewhere are pods that run on nodes that are not among Nodes. Their anti-affinity makes DaemonSets uncertain.
	Elsewhere []*corev1.Pod
}

// Check returns the violations of all rules about other pods. Only planned pods are reported, also where the rule is that of a
// running pod.
func (rs *Rules) Check(p Plan) []Violation {
	if rs.Empty() {
		return nil
	}
	c := newCluster(rs, p.Nodes, rs.certainDaemonSets(p))
	newReplay(c).run(p.Order)
	return c.found
}

// certainDaemonSets returns the DaemonSets of which nothing can keep a pod off a node that it selects. Such a DaemonSet has no
// required rules about other pods, and no required anti-affinity of a running pod or of another DaemonSet selects its pods.
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
