package methods

import (
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Expire replaces nodes that expire soon. It is forced: budgets, do-not-disrupt and PodDisruptionBudgets are ignored.
// When a node expires, another controller deletes it, even if it was not replaced. Until then, a node stays whose pods have no
// other place.
func Expire(from *problem.State, candidates []*problem.Candidate) *problem.State {
	st := from.Clone()
	now := st.Problem.Snapshot.Now
	free, most := expiryLimit(st.Problem.Snapshot)
	for _, c := range candidates {
		at, ok := status.ReplaceAt(c.Node.Claim)
		if !ok || now.Before(at) || !st.Problem.MayBegin(c.Node).OK() {
			continue
		}
		if free <= 0 {
			st.BlockFinally(c, model.Verdict{Rule: model.RulePolicy, Cause: model.CauseExpiring, By: int64(most)})
			continue
		}
		if st.Problem.Options.Static && c.Pool != nil && c.Pool.Static() {
			if v := replaceStatic(st, c, model.Command{Reason: status.ReasonExpired}); !v.OK() {
				st.BlockFinally(c, v) // deleted on expiry; the static NodePool then launches another
				continue
			}
			free--
			continue
		}
		p := st.WhatIf(st.Cluster, []*problem.Candidate{c})
		if expiry, _ := model.ExpiresAt(c.Node.Claim); now.Before(expiry) {
			if v := unplaced(st, p); !v.OK() {
				st.BlockFinally(c, v)
				continue
			}
		}
		free--
		st.Accept(p.Command(status.ReasonExpired, "expiry"), c)
	}
	return st
}

// expiryLimit returns the limit on simultaneous replacements because of expiry (most), and how many of them are left (free).
// Without a limit, a wrong clock or setting, or a controller that was off for long, would replace all nodes at once. The
// limit does not delay the deletion of a claim whose expireAfter has passed. That deletion has a limit of its own.
func expiryLimit(s *model.Snapshot) (free, most int) {
	all, now := 0, 0
	for _, n := range s.Nodes() {
		if !n.Managed() {
			continue
		}
		all++
		if status.Reason(n) == status.ReasonExpired && (n.Deleting || status.Disrupting(n)) {
			now++
		}
	}
	most = status.MostExpiring(all)
	return most - now, most
}
