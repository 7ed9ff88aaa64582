package methods

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/repair"
)

// A faulty candidate is unhealthy for longer than a policy tolerates.
type faulty struct {
	*problem.Candidate
	repair model.Repair
	score  float64
}

// Repair replaces or reboots unhealthy nodes, within the budgets for the reason Unhealthy. Nodes are processed in the order
// of their scores, highest first (see repair.Policies.Decide). A replacement must be initialized before its node is removed,
// except if the node is terminated first. Repairs of a NodePool that did not help delay its next repair: see poolHealth.
func Repair(from *problem.State, candidates []*problem.Candidate) *problem.State {
	st := from.Clone()
	if st.Problem.Options.Repair == nil {
		return st
	}
	health := healthOf(st)
	found := faultyOf(st, candidates)
	st.Stats.Eligible[status.ReasonUnhealthy] += len(found)
	for _, f := range found {
		pool := health[f.Node.Pool]
		v := pool.allow(st.Problem.Snapshot.Now)
		if v.OK() {
			v = replace(st, f.Candidate, model.Command{Reason: status.ReasonUnhealthy, Method: "repair", Repair: &f.repair})
		}
		if !v.OK() {
			st.BlockFinally(f.Candidate, v)
			continue
		}
		pool.inRepair = f.Node.Name
	}
	return st
}

// faultyOf returns the candidates to repair, by falling score, then eviction cost and name. It blocks those that must stay.
func faultyOf(st *problem.State, candidates []*problem.Candidate) []faulty {
	policies, now := st.Problem.Options.Repair, st.Problem.Snapshot.Now
	var found []faulty
	for _, c := range candidates {
		n := c.Node
		if n.Object == nil || n.Claim == nil || !n.Registered || n.Deleting || status.Disrupting(n) || n.Rebooting() {
			continue
		}
		r, score, ok := policies.Decide(policies.Matches(n.Object, n.Claim), now)
		if !ok {
			continue
		}
		f := faulty{Candidate: c, repair: r, score: score}
		f.setDetails(now)
		if v := f.mayRepair(st); !v.OK() {
			st.BlockFinally(c, v)
			continue
		}
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b faulty) int {
		return cmp.Or(
			cmp.Compare(b.score, a.score),
			cmp.Compare(a.EvictionCost, b.EvictionCost),
			strings.Compare(a.Node.Name, b.Node.Name),
		)
	})
	return found
}

// setDetails sets the fields of f.repair that depend on the claim: escalation, the drain bound, and the number of the
// attempt.
func (f *faulty) setDetails(now time.Time) {
	claim := f.Node.Claim
	if f.repair.Reboot && repair.Escalates(claim, now) {
		f.repair.Reboot, f.repair.Escalated = false, true
	}
	if grace, bound := claim.Spec.TerminationGracePeriod, f.repair.DrainBound; bound != nil && grace != nil && grace.Duration < *bound {
		f.repair.DrainBound, f.repair.DrainBoundBy = &grace.Duration, ""
	}
	f.repair.Attempt = 1 + repair.Attempt(claim, now)
}

// mayRepair returns the reason, other than budgets, why an unhealthy node must stay.
func (f *faulty) mayRepair(st *problem.State) model.Verdict {
	if v := st.Problem.MayRepair(f.Candidate); !v.OK() {
		return v
	}
	if f.repair.DrainBound == nil && f.Node.Claim.Spec.TerminationGracePeriod == nil {
		if v := st.Problem.MayEvictPods(f.Candidate); !v.OK() {
			return model.Verdict{Rule: model.RuleUnhealthy, Cause: model.CauseNoDrainBound,
				Subject: "node is unhealthy, but its drain has no time limit (terminationGracePeriod) and is blocked: " + v.String()}
		}
	}
	if f.Node.Initialized || status.ReplacesExisting(st.Problem.Snapshot, f.Node) {
		return st.Incoming(f.Candidate)
	}
	return model.Verdict{}
}

// unplaced returns a refusal if a pod that runs on the node has no other place. Pods that are only planned onto the node
// are pending anyway.
func unplaced(st *problem.State, p problem.Proposal) model.Verdict {
	for _, refusal := range p.Plan.Refusals {
		for _, pod := range refusal.Pods {
			if o, ok := st.Problem.Snapshot.Pods.Get(pod.Key); ok && o.Bound() {
				return p.Verdict
			}
		}
	}
	return model.Verdict{}
}
