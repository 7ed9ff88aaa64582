package consolidate

import (
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// maxGap bounds the time within which another node has to become consolidatable for consolidation to wait.
	maxGap = 15 * time.Second
	// maxGaps bounds the wait, as a multiple of that time.
	maxGaps = 8
)

// settle decides whether consolidation waits for other nodes to become consolidatable. It is a yes if it does not.
//
// A decision for all nodes of a scale-in costs less and moves each pod once. So consolidation waits if a node became
// consolidatable a moment ago, and another will within half of consolidateAfter or 15 seconds, whichever is shorter; or if the
// others waste more than the candidates. The wait lasts eight times as long at most. After it no other wait begins for as long
// as it lasted, so pods that come and go all the time do not keep nodes forever.
//
// Consolidation also waits while a staged move is under way, because pods of another command would take the room of its pods.
func settle(st *problem.State, candidates []*problem.Candidate, cursor Cursor) (wait model.Verdict, next Cursor, waits bool) {
	s := st.Problem.Snapshot
	if st.Problem.Options.Simulate {
		return wait, cursor, false
	}
	if move.StageOf(s).Next != nil {
		return waitFor("for pods that are moving now"), cursor, false
	}
	since := s.Now
	switch {
	case !cursor.WaitingSince.IsZero():
		since = cursor.WaitingSince
	case s.Now.Before(cursor.NextWait) || !recentlyConsolidatable(st):
		return wait, cursor, false
	}
	if soonConsolidatable(st, since, candidates) {
		cursor.WaitingSince = since
		return waitFor("for other nodes that will be consolidatable soon"), cursor, true
	}
	cursor.WaitingSince, cursor.NextWait = time.Time{}, s.Now.Add(min(s.Now.Sub(since), maxGaps*maxGap))
	return wait, cursor, false
}

func waitFor(what string) model.Verdict { return model.Verdict{Rule: model.RuleRecent, Subject: what} }

// recentlyConsolidatable reports whether a node became consolidatable less than a gap ago.
func recentlyConsolidatable(st *problem.State) bool {
	return slices.ContainsFunc(st.Problem.Candidates, func(c *problem.Candidate) bool {
		since := time.Time{}
		if x := condition.Get(c.Node.Claim, apiv1.ConditionTypeConsolidatable); x != nil {
			since = x.LastTransitionTime.Time
		}
		return relevant(st, c) && st.Problem.Consolidatable(c) && st.Problem.Snapshot.Now.Sub(since) < gapOf(c)
	})
}

// soonConsolidatable reports whether to go on waiting, which began at since: other nodes become consolidatable before the wait
// must end, and one of them does within its gap, or all of them waste more than the candidates.
func soonConsolidatable(st *problem.State, since time.Time, candidates []*problem.Candidate) bool {
	now := st.Problem.Snapshot.Now
	next, inTime, waste := false, false, 0.0
	for _, c := range st.Problem.Candidates {
		if !relevant(st, c) || st.Problem.Consolidatable(c) {
			continue
		}
		already, left := lifecycle.Consolidatable(c.Node.Claim, c.Pool.Object, now)
		if !already && left <= 0 {
			continue // time alone will not make it consolidatable
		}
		if now.Add(left).Sub(since) <= maxGaps*gapOf(c) {
			next, inTime = next || left <= gapOf(c), true
		}
		waste += max(0, c.Waste())
	}
	for _, c := range candidates {
		waste -= max(0, c.Waste())
	}
	return next || inTime && waste > 0
}

// relevant reports whether consolidation will look at the node once it is consolidatable.
func relevant(st *problem.State, c *problem.Candidate) bool {
	return !st.Taken(c) && c.Pool != nil && len(c.Pods) > 0 && !c.Pool.Static() && st.Problem.MayDisrupt(c).OK() &&
		c.Pool.Object.Spec.Disruption.ConsolidationPolicy != apiv1.ConsolidationPolicyWhenEmpty
}

// gapOf returns the time within which another node has to become consolidatable for this one to wait.
func gapOf(c *problem.Candidate) time.Duration {
	if after := c.Pool.Object.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
		return min(*after/2, maxGap)
	}
	return 0
}
