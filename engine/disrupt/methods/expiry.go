package methods

import (
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
)

// Expire replaces nodes that expire soon. It is forced: budgets, do-not-disrupt and PodDisruptionBudgets are ignored.
// A node that still exists when it expires is deleted by another controller.
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
			if v := replaceStatic(st, c, status.ReasonExpired); !v.OK() {
				st.BlockFinally(c, v) // deleted on expiry; the static NodePool then launches another
			}
			continue
		}
		// A pod without another place now would have none after the expiry either. All other pods get their
		// replacement in time.
		st.Accept(st.WhatIf(st.Cluster, []*problem.Candidate{c}).Command(status.ReasonExpired, "expiry"), c)
	}
	return st
}
