package methods

import (
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Expire replaces nodes that expire soon. It is forced: budgets, do-not-disrupt and PodDisruptionBudgets are ignored.
// When a node expires, another controller deletes it, even if it was not replaced.
func Expire(from *problem.State, due []*problem.Candidate) *problem.State {
	st := from.Clone()
	now := st.Problem.Snapshot.Now
	for _, c := range due {
		if !st.Problem.Present(c) {
			continue
		}
		at, ok := status.ReplaceAt(c.Node.Claim)
		if !ok || now.Before(at) {
			continue
		}
		if st.Problem.Options.Static && c.Pool != nil && c.Pool.Static() {
			if v := replaceStatic(st, c, model.Command{Reason: status.ReasonExpired}); !v.OK() {
				st.BlockFinally(c, v) // deleted on expiry; the static NodePool then launches another
			}
			continue
		}
		// The node expires in any case, so the command is accepted even if some pods have no other place.
		st.Accept(st.WhatIf(st.Cluster, []*problem.Candidate{c}).Command(status.ReasonExpired, "expiry"), c)
	}
	return st
}
