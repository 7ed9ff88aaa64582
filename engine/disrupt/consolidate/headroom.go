package consolidate

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// refuseForHeadroom returns a refusal if kube-scheduler may bind the pods of the proposal to nodes that have only headroom of
// CapacityBuffers, and new nodes for that headroom may cost as much as the proposal saves. kube-scheduler knows neither the
// plan nor the headroom, and prefers nodes with much free capacity. Without this rule, the new node would be the next such
// node, and the pods would move forever.
//
// The cost is that of the nodes that the pods take if each takes one node. A pod takes the dearest node on which it may run and
// which no other pod took.
func (s *search) refuseForHeadroom(p problem.Proposal) model.Verdict {
	var spare []*problem.Candidate
	for _, c := range s.st.Problem.Candidates {
		if len(c.Pods) == 0 && s.st.Headroom(c) != "" && !s.st.Removed(c) && !slices.Contains(p.Set, c) {
			spare = append(spare, c)
		}
	}
	if len(spare) == 0 {
		return model.Verdict{}
	}
	slices.SortStableFunc(spare, func(a, b *problem.Candidate) int { return cmp.Compare(b.Price, a.Price) })
	taken, cost := map[*problem.Candidate]bool{}, 0.0
	for _, c := range p.Set {
		for _, pod := range c.Pods {
			i := slices.IndexFunc(spare, func(to *problem.Candidate) bool { return !taken[to] && mayRun(pod, to.Node) })
			if i >= 0 {
				taken[spare[i]] = true
				cost += spare[i].Price
			}
		}
	}
	if len(taken) == 0 || p.Saves > cost+problem.Epsilon {
		return model.Verdict{}
	}
	first := spare[slices.IndexFunc(spare, func(c *problem.Candidate) bool { return taken[c] })]
	return model.Verdict{Rule: model.RulePrice, Cause: model.CauseHeadroom, Subject: fmt.Sprintf(
		"kube-scheduler may bind %s to nodes with headroom of CapacityBuffer %s, and new nodes for it may cost $%.4f/h, as much as this saves",
		pods(p), s.st.Headroom(first), cost)}
}

// mayRun reports whether the node has the free capacity that the pod requests, and the labels and taints that the pod allows.
// It does not consider other pods.
func mayRun(pod *model.Pod, n *model.Node) bool {
	if _, refused := model.Untolerated(pod.Object.Spec.Tolerations, n.Taints); refused || n.Object == nil {
		return false
	}
	for name, amount := range pod.Requests {
		if amount > n.FreeOf(name) {
			return false
		}
	}
	ok, err := nodeaffinity.GetRequiredNodeAffinity(pod.Object).Match(n.Object)
	return ok && err == nil
}
