package methods

import (
	"fmt"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// RepairByForce removes with force the nodes that are unhealthy for longer than a policy tolerates, as upstream Karpenter did
// before 1.15. Budgets, do-not-disrupt and PodDisruptionBudgets are ignored, and replacements are launched afterwards for the
// pods. If more than 20% (rounded up) of the nodes of a NodePool are unhealthy, none of them is removed.
func RepairByForce(from *problem.State, due []*problem.Candidate) *problem.State {
	st := from.Clone()
	policies := st.Problem.Options.Repair.Replacing()
	unhealthy, all := map[string]int{}, map[string]int{}
	for _, c := range st.Problem.Candidates {
		if c.Node.Deleting || c.Node.Object == nil {
			continue
		}
		all[c.Node.Pool]++
		if len(policies.Matches(c.Node.Object, c.Node.Claim)) > 0 {
			unhealthy[c.Node.Pool]++
		}
	}
	for _, c := range due {
		if c.Node.Deleting || c.Node.Object == nil || c.Node.Claim == nil {
			continue
		}
		matches := policies.Matches(c.Node.Object, c.Node.Claim)
		if _, _, ok := policies.Decide(matches, st.Problem.Snapshot.Now); !ok {
			continue
		}
		n, k := all[c.Node.Pool], unhealthy[c.Node.Pool]
		if many(k, n) {
			st.BlockFinally(c, model.Verdict{Rule: model.RuleUnhealthy, Subject: fmt.Sprintf(
				"node repair is suspended: %d of %d nodes of NodePool %q are unhealthy, more than %d%%", k, n, c.Node.Pool, maxUnhealthyPercent)})
			continue
		}
		st.Accept(model.Command{Reason: status.ReasonUnhealthy, Method: "repair", Saves: c.Price, Force: true}, c)
	}
	return st
}
