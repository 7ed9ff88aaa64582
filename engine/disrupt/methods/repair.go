package methods

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// maxUnhealthyPercent is the unhealthy share of a NodePool, rounded up, up to which its nodes are repaired. If more are
// unhealthy, the nodes are probably not the cause, and replacing them could do harm. Nodes without a NodePool count as
// one pool.
const maxUnhealthyPercent = 20

// Repair removes unhealthy nodes immediately and with force. They no longer work, so budgets, do-not-disrupt and
// PodDisruptionBudgets are ignored.
func Repair(from *problem.State, due []*problem.Candidate) *problem.State {
	st := from.Clone()
	policies := st.Problem.Options.Repair
	unhealthy, all := map[string]int{}, map[string]int{}
	for _, c := range st.Problem.Candidates {
		if c.Node.Deleting || c.Node.Object == nil {
			continue
		}
		all[c.Node.Pool]++
		if _, _, ok := repairAt(c.Node, policies); ok {
			unhealthy[c.Node.Pool]++
		}
	}
	for _, c := range due {
		if c.Node.Deleting || c.Node.Object == nil || c.Node.Claim == nil {
			continue
		}
		at, _, ok := repairAt(c.Node, policies)
		if !ok || st.Problem.Snapshot.Now.Before(at) {
			continue
		}
		n, k := all[c.Node.Pool], unhealthy[c.Node.Pool]
		if k > (n*maxUnhealthyPercent+99)/100 {
			st.BlockFinally(c, model.Verdict{Rule: model.RuleUnhealthy, Subject: fmt.Sprintf(
				"node repair is suspended: %d of %d nodes of %s are unhealthy, more than %d%%", k, n, named(c.Node.Pool), maxUnhealthyPercent)})
			continue
		}
		st.Accept(model.Command{Reason: status.ReasonUnhealthy, Method: "repair", Saves: c.Price, Force: true}, c)
	}
	return st
}

func named(pool string) string {
	if pool == "" {
		return "no NodePool"
	}
	return fmt.Sprintf("NodePool %q", pool)
}

// repairAt returns when the node is due for repair, by the policy that applies first. ok is false if no policy matches
// a condition of the node.
func repairAt(n *model.Node, policies []problem.RepairPolicy) (at time.Time, condition corev1.NodeConditionType, ok bool) {
	for _, policy := range policies {
		for _, c := range n.Object.Status.Conditions {
			if c.Type != policy.Type || c.Status != policy.Status {
				continue
			}
			if due := c.LastTransitionTime.Add(policy.Toleration); !ok || due.Before(at) {
				at, condition, ok = due, policy.Type, true
			}
		}
	}
	return at, condition, ok
}

// UnhealthyCondition returns the condition because of which the node is repaired, empty if there is none.
func UnhealthyCondition(n *model.Node, policies []problem.RepairPolicy) corev1.NodeConditionType {
	_, condition, _ := repairAt(n, policies)
	return condition
}
