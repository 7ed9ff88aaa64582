package podtopology

import corev1 "k8s.io/api/core/v1"

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

// Check returns the violations of all rules. nodes are all nodes of the cluster after the plan. order is the sequence in
// which planned pods are placed; pods that it omits are placed afterwards. Only planned pods are reported, even if the
// anti-affinity of another pod is broken.
func (rs *Rules) Check(nodes []*Node, order []*corev1.Pod) []Violation {
	if rs.Empty() {
		return nil
	}
	r := newReplay(rs, nodes)
	r.run(order)
	return r.found
}
