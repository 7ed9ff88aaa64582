package disrupt

import (
	"fmt"
	"maps"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// Recheck judges marked nodes again, all together, just before they go: now that no new pods come, does what was decided
// still hold? It returns a verdict for each node by name, a yes if it may go.
//
// A node that was empty must still be, and no pod may be on the way to it. Pods that have to move must all find room on what is there: a node that would have to
// be launched for them is one that nobody decided to pay for. What expired goes in any case.
func Recheck(s *model.Snapshot, nodes []*model.Node, o Options) map[string]model.Verdict {
	out := map[string]model.Verdict{}
	var movers, empties []*model.Node
	for _, n := range nodes {
		if markOf(n) == apiv1.DisruptionReasonEmpty {
			empties = append(empties, n)
			continue
		}
		v, moves := recheckOne(s, n)
		out[n.Name] = v
		if moves && v.OK() {
			movers = append(movers, n)
		}
	}
	maps.Copy(out, stillEmpty(s, empties, o))
	if len(movers) == 0 {
		return out
	}
	home := map[string]string{}
	for _, n := range movers {
		for _, p := range n.Reschedulable() {
			home[p.Key] = n.Name
		}
	}
	plan := pack.Solve(s.Without(movers...), o.Pack)
	lost := func(pods []*model.Pod, why string) {
		for _, p := range pods {
			if name, ours := home[p.Key]; ours && out[name].OK() {
				out[name] = model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf("pod %s has lost its place: %s", p.Key, why)}
			}
		}
	}
	for i := range plan.Nodes {
		lost(plan.Nodes[i].Pods, "a node would have to be launched for it")
	}
	for _, r := range plan.Refusals {
		lost(r.Pods, r.String())
	}
	return out
}

// markOf returns the reason that the node was marked to go for, empty if none is known.
func markOf(n *model.Node) apiv1.DisruptionReason {
	if mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason); mark != nil {
		return apiv1.DisruptionReason(mark.Reason)
	}
	return ""
}

// recheckOne judges what concerns the node alone, and tells whether the places of its pods have to be looked at.
func recheckOne(s *model.Snapshot, n *model.Node) (v model.Verdict, moves bool) {
	switch markOf(n) {
	case ReasonExpired, ReasonUnhealthy:
		return model.Verdict{}, false
	case apiv1.DisruptionReasonDrifted:
		if n.Claim.Spec.TerminationGracePeriod != nil {
			break
		}
		if v := StillUnprotected(s, n); !v.OK() {
			return v, false
		}
	default:
		if v := StillUnprotected(s, n); !v.OK() {
			return v, false
		}
	}
	p, ok := s.Pool(n.Pool)
	return model.Verdict{}, ok && !p.Static()
}
