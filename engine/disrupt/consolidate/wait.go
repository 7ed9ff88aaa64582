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
	// maxGap is the largest gap of a node (see decideWait). A wait lasts at most maxGaps gaps.
	maxGap  = 15 * time.Second
	maxGaps = 8
	// minorShare is the share of the candidates' waste up to which the waste of other nodes is not worth a wait longer than a gap. A
	// wait costs the waste of the candidates for seconds. A decision without the other nodes moves pods that the next one moves again.
	minorShare = 0.5
)

// decideWait decides whether consolidation waits for other nodes to become consolidatable. The verdict is OK if it does not
// wait. With Options.Simulate it never waits.
//
// One decision for all nodes of a scale-in costs less and moves each pod once. The gap of a node is half of its
// consolidateAfter, at most maxGap. A wait begins if a node became consolidatable less than a gap ago. It continues as
// long as soonConsolidatable returns true, for at most eight gaps. After a wait, no other wait begins for as long as it
// lasted. Otherwise pods that start and end all the time could delay consolidation forever.
//
// Consolidation also waits during a staged move; waits is then false. Otherwise pods of another command could take the
// capacity that is reserved for the moving pods.
func decideWait(st *problem.State, candidates []*problem.Candidate, cursor Cursor) (wait model.Verdict, next Cursor, waits bool) {
	s := st.Problem.Snapshot
	if st.Problem.Options.Simulate {
		return wait, cursor, false
	}
	if len(move.StageOf(s).Next) > 0 {
		return model.Verdict{Rule: model.RuleRecent, Cause: model.CauseMoving}, cursor, false
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
		return model.Verdict{Rule: model.RuleRecent, Cause: model.CauseGathering, By: int64(maxGaps * maxGap)}, cursor, true
	}
	cursor.WaitingSince, cursor.NextWait = time.Time{}, s.Now.Add(min(s.Now.Sub(since), maxGaps*maxGap))
	return wait, cursor, false
}

// recentlyConsolidatable reports whether a relevant node became consolidatable less than its gap ago.
func recentlyConsolidatable(st *problem.State) bool {
	return slices.ContainsFunc(st.Problem.Candidates, func(c *problem.Candidate) bool {
		since := time.Time{}
		if x := condition.Get(c.Node.Claim, apiv1.ConditionTypeConsolidatable); x != nil {
			since = x.LastTransitionTime.Time
		}
		return relevant(st, c) && st.Problem.Consolidatable(c) && st.Problem.Snapshot.Now.Sub(since) < gapOf(c)
	})
}

// soonConsolidatable reports whether consolidation waits longer. since is when the wait began.
//
// A node is gathered if it is relevant, not consolidatable yet, and will be consolidatable at the latest eight of its gaps
// after since. Consolidation waits if a gathered node will be consolidatable within its gap. It also waits if there is a
// gathered node, and the relevant nodes that will be consolidatable at any later time waste more than minorShare of the money that
// the candidates waste.
func soonConsolidatable(st *problem.State, since time.Time, candidates []*problem.Candidate) bool {
	now := st.Problem.Snapshot.Now
	next, inTime, waste := false, false, 0.0
	for _, c := range st.Problem.Candidates {
		if !relevant(st, c) || st.Problem.Consolidatable(c) {
			continue
		}
		already, left := lifecycle.Consolidatable(c.Node.Claim, c.Pool.Object, now)
		if !already && left <= 0 {
			continue // time alone does not make it consolidatable
		}
		if now.Add(left).Sub(since) <= maxGaps*gapOf(c) {
			next, inTime = next || left <= gapOf(c), true
		}
		waste += max(0, c.Waste())
	}
	for _, c := range candidates {
		waste -= minorShare * max(0, c.Waste())
	}
	return next || inTime && waste > 0
}

// relevant reports whether consolidation will consider the node once it is consolidatable.
func relevant(st *problem.State, c *problem.Candidate) bool {
	return !st.Removed(c) && c.Pool != nil && len(c.Pods) > 0 && !c.Pool.Static() && st.Problem.MayDisrupt(c).OK() &&
		c.Pool.Object.Spec.Disruption.ConsolidationPolicy != apiv1.ConsolidationPolicyWhenEmpty
}

// gapOf returns the gap of the node (see decideWait), zero if consolidateAfter is Never.
func gapOf(c *problem.Candidate) time.Duration {
	if after := c.Pool.Object.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
		return min(*after/2, maxGap)
	}
	return 0
}
