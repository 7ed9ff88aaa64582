package methods

import (
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
)

// Expire replaces nodes that will expire soon. It is forced: budgets, do-not-disrupt and PodDisruptionBudgets do not keep
// them. A node that is still there when it expires is deleted by another controller.
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
				st.BlockFinally(c, v) // deleted when it expires; the NodePool is filled up afterwards
			}
			continue
		}
		// A pod without another place has none after the expiry either. All others get their replacement in time.
		st.Accept(st.WhatIf(st.Cluster, []*problem.Candidate{c}).Command(status.ReasonExpired, "expiry"), c)
	}
	return st
}
