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
	// maxWait bounds how long consolidatable nodes wait for others.
	maxWait = 15 * time.Second
	// wastefulFactor is how many times as long they wait for nodes that waste more than they do.
	wastefulFactor = 8
	// soonShare is the part of the wait within which a node becomes consolidatable soon. They wait soonFactor times as long for
	// such a node.
	soonShare, soonFactor = 3, 3
)

// settle decides whether consolidation waits. It is a yes if it does not.
//
// It waits if nodes became consolidatable a moment ago and others will within moments: a decision for all of them costs less
// and moves no pod twice. The wait lasts half of consolidateAfter or 15 seconds, whichever is shorter; three times as long
// for nodes that become consolidatable within a third of that; and eight times as long while those nodes waste more than the
// candidates. After a wait no other begins for as long as it lasted, so pods that come and go all the time do not keep nodes
// forever. It also waits while a staged move is under way, because pods of another command would take the room of its pods.
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
	cursor.WaitingSince, cursor.NextWait = time.Time{}, s.Now.Add(min(s.Now.Sub(since), wastefulFactor*maxWait))
	return wait, cursor, false
}

func waitFor(what string) model.Verdict { return model.Verdict{Rule: model.RuleRecent, Subject: what} }

// recentlyConsolidatable reports whether a node became consolidatable less than a wait ago.
func recentlyConsolidatable(st *problem.State) bool {
	return slices.ContainsFunc(st.Problem.Candidates, func(c *problem.Candidate) bool {
		since := time.Time{}
		if x := condition.Get(c.Node.Claim, apiv1.ConditionTypeConsolidatable); x != nil {
			since = x.LastTransitionTime.Time
		}
		return relevant(st, c) && st.Problem.Consolidatable(c) && st.Problem.Snapshot.Now.Sub(since) < waitOf(c)
	})
}

// soonConsolidatable reports whether other nodes become consolidatable in time for the candidates, which wait since then.
func soonConsolidatable(st *problem.State, since time.Time, candidates []*problem.Candidate) bool {
	now := st.Problem.Snapshot.Now
	soon, late, waste := false, false, 0.0
	for _, c := range st.Problem.Candidates {
		if !relevant(st, c) || st.Problem.Consolidatable(c) {
			continue
		}
		already, left := lifecycle.Consolidatable(c.Node.Claim, c.Pool.Object, now)
		if !already && left <= 0 {
			continue // time alone will not make it consolidatable
		}
		after, wait := now.Add(left).Sub(since), waitOf(c)
		soon = soon || after <= wait || after <= soonFactor*wait && left <= wait/soonShare
		late = late || after <= wastefulFactor*wait
		waste += max(0, c.Waste())
	}
	for _, c := range candidates {
		waste -= max(0, c.Waste())
	}
	return soon || late && waste > 0
}

// relevant reports whether consolidation will look at the node once it is consolidatable.
func relevant(st *problem.State, c *problem.Candidate) bool {
	return !st.Taken(c) && c.Pool != nil && len(c.Pods) > 0 && !c.Pool.Static() && st.Problem.MayDisrupt(c).OK() &&
		c.Pool.Object.Spec.Disruption.ConsolidationPolicy != apiv1.ConsolidationPolicyWhenEmpty
}

// waitOf returns how long the node waits for others at most.
func waitOf(c *problem.Candidate) time.Duration {
	if after := c.Pool.Object.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
		return min(*after/2, maxWait)
	}
	return 0
}
