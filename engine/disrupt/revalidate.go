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
		eventual := reason == apiv1.DisruptionReasonDrifted && n.Claim.Spec.TerminationGracePeriod != nil
		v := model.Verdict{}
		if !status.Forced(reason) && !eventual {
			v = status.Unprotected(n, s.Now)
		}
		pool, exists := s.Pool(n.Pool)
		if v.OK() && exists && consolidates(reason) && n.Claim.Annotations[apiv1.ReplacedByAnnotationKey] == "" && !status.Consolidatable(s, n) {
			v = model.Verdict{Rule: model.RuleRecent}
			if after := pool.Object.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
				v.By = int64(*after)
			}
		}
		verdicts[n.Name] = v
		switch {
		case !v.OK() || status.TerminatesFirst(n):
		case reason == apiv1.DisruptionReasonEmpty:
			empty = append(empty, n)
		case !status.Forced(reason) && exists && !pool.Static():
			moving = append(moving, n)
		}
	}
	revalidateEmpty(s, empty, o, verdicts)
	revalidateMoving(s, moving, o, verdicts)
	return verdicts
}

// consolidates reports whether the reason is one of consolidation.
func consolidates(reason apiv1.DisruptionReason) bool {
	return reason == apiv1.DisruptionReasonEmpty || reason == apiv1.DisruptionReasonUnderutilized
}

// revalidateEmpty refuses nodes that are no longer empty, or to which pods are assigned.
func revalidateEmpty(s *model.Snapshot, nodes []*model.Node, o pack.Options, verdicts map[string]model.Verdict) {
	incoming := incomingTo(s, nodes, o)
	for _, n := range nodes {
		switch pods := n.Reschedulable(); {
		case len(pods) > 0:
			verdicts[n.Name] = model.Verdict{Rule: model.RuleInUse, Subject: "pod " + pods[0].Key}
		case incoming[n.Name]:
			verdicts[n.Name] = model.Verdict{Rule: model.RuleNominated}
		}
	}
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

// incomingTo returns the names of the nodes to which a pending or displaced pod is assigned (Snapshot.PromiseOf). The pod must
// fit there without the disruption taint, or once the terminating pods of the node are gone. Placeholder pods of capacity
// buffers do not count.
func incomingTo(s *model.Snapshot, nodes []*model.Node, o pack.Options) map[string]bool {
	marked := map[string]*model.Node{}
	for _, n := range nodes {
		marked[n.Name] = n
	}
	assigned, incoming := map[*model.Pod]string{}, map[string]bool{}
	for _, p := range append(s.Pending(), s.Displaced()...) {
		n, ok := s.NodeByName(s.PromiseOf(p))
		if !ok || marked[n.Name] == nil || p.Virtual() {
			continue
		}
		assigned[p] = n.Name
		incoming[n.Name] = incoming[n.Name] || status.FreesRoom(n, p)
	}
	if len(assigned) == 0 {
		return incoming
	}
	plan, _ := pack.Try(s.Apply(withoutMarks(nodes)), o)
	for _, pl := range plan.Placements {
		for _, p := range pl.Pods {
			if assigned[p] == pl.Node.Name {
				incoming[pl.Node.Name] = true
			}
		}
	}
	return incoming
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
