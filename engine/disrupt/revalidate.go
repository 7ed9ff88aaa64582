package disrupt

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// Revalidate checks the nodes that are marked for disruption once more, all together, just before they are deleted. The
// disruption taint excludes new pods by then. It returns a verdict for each node by name, OK if the node may be
// deleted.
//
// Forced disruption is always valid. In all other cases the node and its pods must not have an active do-not-disrupt, except
// if the node has drifted and has a terminationGracePeriod. A node that is removed as empty must still be empty, and no pod
// must be assigned to it. All pods of the other nodes must fit on existing nodes, which include the replacements. The pods
// of a node that is terminated first, or whose NodePool is static or does not exist, need not fit.
//
// A node that is consolidated without replacements must still be consolidatable: its last pods may have ended just before the
// decision. With replacements that is not checked, because they are launched already.
func Revalidate(s *model.Snapshot, marked []*model.Node, o pack.Options) map[string]model.Verdict {
	verdicts := map[string]model.Verdict{}
	var empty, moving []*model.Node
	for _, n := range marked {
		reason := status.Reason(n)
		v := revalidateNode(s, n, reason)
		pods := n.Reschedulable()
		pool, exists := s.Pool(n.Pool)
		switch {
		case !v.OK() || status.TerminatesFirst(n):
		case reason == apiv1.DisruptionReasonEmpty && len(pods) > 0:
			v = model.Verdict{Rule: model.RuleInUse, Subject: "pod " + pods[0].Key}
		case reason == apiv1.DisruptionReasonEmpty:
			empty = append(empty, n)
		case !status.Forced(reason) && exists && !pool.Static():
			moving = append(moving, n)
		}
		verdicts[n.Name] = v
	}
	revalidateEmpty(s, empty, o, verdicts)
	revalidateMoving(s, moving, o, verdicts)
	return verdicts
}

// revalidateNode returns a refusal if the node or its pods have an active do-not-disrupt, or if it is consolidated without
// replacements and is not consolidatable.
func revalidateNode(s *model.Snapshot, n *model.Node, reason apiv1.DisruptionReason) (v model.Verdict) {
	eventual := reason == apiv1.DisruptionReasonDrifted && n.Claim.Spec.TerminationGracePeriod != nil
	if !status.Forced(reason) && !eventual {
		v = status.Unprotected(n, s.Now)
	}
	pool, exists := s.Pool(n.Pool)
	consolidated := reason == apiv1.DisruptionReasonEmpty || reason == apiv1.DisruptionReasonUnderutilized
	if v.OK() && exists && consolidated && len(status.ReplacedBy(n.Claim)) == 0 && !status.Consolidatable(s, n) {
		v = model.Verdict{Rule: model.RuleRecent}
		if after := pool.Object.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
			v.By = int64(*after)
		}
	}
	return v
}

// revalidateEmpty refuses the nodes to which a pending or displaced pod is assigned. The pod must fit there without the
// disruption taint, or once the terminating pods of the node are gone.
func revalidateEmpty(s *model.Snapshot, nodes []*model.Node, o pack.Options, verdicts map[string]model.Verdict) {
	if len(nodes) == 0 {
		return
	}
	incoming := status.Freeing(s)
	if len(incoming) > 0 {
		plan, _ := pack.Try(s.Apply(withoutMarks(nodes)), o)
		for _, pl := range plan.Placements {
			incoming[pl.Node.Name] = incoming[pl.Node.Name] || slices.ContainsFunc(pl.Pods, func(p *model.Pod) bool {
				n, ok := status.AssignedTo(s, p)
				return ok && n.Name == pl.Node.Name
			})
		}
	}
	for _, n := range nodes {
		if incoming[n.Name] {
			verdicts[n.Name] = model.Verdict{Rule: model.RuleNominated}
		}
	}
}

// withoutMarks returns the change that removes the disruption taint from the nodes.
func withoutMarks(nodes []*model.Node) model.Delta {
	var change model.Delta
	for _, n := range nodes {
		o := *n.Object
		o.Spec.Taints = slices.DeleteFunc(slices.Clone(o.Spec.Taints), func(t corev1.Taint) bool {
			return t.Key == apiv1.DisruptedTaintKey
		})
		change.Nodes = append(change.Nodes, &o)
	}
	return change
}

// revalidateMoving refuses nodes with pods that now need a further launch or fit nowhere.
func revalidateMoving(s *model.Snapshot, nodes []*model.Node, o pack.Options, verdicts map[string]model.Verdict) {
	if len(nodes) == 0 {
		return
	}
	home := map[string]string{}
	for _, n := range nodes {
		for _, p := range n.Reschedulable() {
			home[p.Key] = n.Name
		}
	}
	refuse := func(pods []*model.Pod, why string) {
		for _, p := range pods {
			if name, ours := home[p.Key]; ours && verdicts[name].OK() {
				verdicts[name] = model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf("pod %s no longer fits on the remaining nodes: %s", p.Key, why)}
			}
		}
	}
	plan, _ := pack.Try(s.Without(nodes...), o)
	for i := range plan.Nodes {
		refuse(plan.Nodes[i].Pods, "it would need a new node")
	}
	for _, r := range plan.Refusals {
		refuse(r.Pods, r.Brief())
	}
}
