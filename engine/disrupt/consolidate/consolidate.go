package consolidate

import (
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Cursor is where the next consolidation goes on. The zero Cursor begins. If it is lost, some nodes stay longer.
type Cursor struct {
	// After is the name of the last node that was looked at by itself, if the bound of what-ifs ended the decision there.
	After string
	// WaitingSince is since when consolidation waits for nodes to become consolidatable, zero if it does not. NextWait is when
	// it may wait again.
	WaitingSince, NextWait time.Time
}

// strategies are the ways in which sets are made. What gains most at first may leave less to gain in the end, so each way is
// followed to its end and the one that gains most is taken.
var strategies = []strategy{
	{podsPerSet: 800},
	{podsPerSet: 5000, extends: true},
	{podsPerSet: 5000, extends: true, oneSet: true},
}

// A strategy is a way to make sets.
type strategy struct {
	// podsPerSet bounds the pods of a set.
	podsPerSet int
	// extends adds to a proposal the nodes that it would leave underfilled.
	extends bool
	// oneSet begins with all candidates in one set, instead of those first that are to be replaced.
	oneSet bool
	// exhaustive looks at each candidate in the whole cluster, without screening.
	exhaustive bool
}

// Run consolidates the candidates that are due. It returns the new State and Cursor, and whether it waits for other nodes to
// become consolidatable instead.
func Run(from *problem.State, due []*problem.Candidate, cursor Cursor) (st *problem.State, next Cursor, waits bool) {
	st = from.Clone()
	var candidates []*problem.Candidate
	for _, c := range due {
		if len(c.Pods) == 0 {
			continue
		}
		if v := mayConsolidate(st, c); !v.OK() {
			st.Block(c, v)
			continue
		}
		candidates = append(candidates, c)
	}
	st.CountEligible(apiv1.DisruptionReasonUnderutilized, len(candidates))
	if len(candidates) == 0 {
		return st, cursor, false
	}
	wait, cursor, waits := settle(st, candidates, cursor)
	if !wait.OK() {
		for _, c := range candidates {
			st.Block(c, wait)
		}
		return st, cursor, waits
	}
	best := newSearch(st, candidates, strategies[0], cursor).run()
	if !best.underfilled || len(candidates) > screeningFrom {
		return best.st, best.cursor, false
	}
	whatIfs, screened := best.st.Stats.WhatIfs, best.st.Stats.Screened
	for _, way := range strategies[1:] {
		other := newSearch(st, candidates, way, cursor).run()
		whatIfs += other.st.Stats.WhatIfs - st.Stats.WhatIfs
		screened += other.st.Stats.Screened - st.Stats.Screened
		if other.st.Gain > best.st.Gain+problem.Epsilon {
			best = other
		}
	}
	best.st.Stats.WhatIfs, best.st.Stats.Screened = whatIfs, screened
	return best.st, best.cursor, false
}

// mayConsolidate is a yes if nothing but price and budgets keeps the node.
func mayConsolidate(st *problem.State, c *problem.Candidate) model.Verdict {
	p := st.Problem
	if v := p.MayDisrupt(c); !v.OK() {
		return v
	}
	if v := p.MayConsolidate(c); !v.OK() {
		return v
	}
	switch {
	case c.Pool.Object.Spec.Disruption.ConsolidationPolicy == apiv1.ConsolidationPolicyWhenEmpty:
		return model.Verdict{Rule: model.RulePolicy, Subject: "consolidationPolicy of its NodePool is WhenEmpty, and it runs pod " + c.Pods[0].Key}
	case !c.Priced:
		return model.Verdict{Rule: model.RulePolicy, Subject: "the price of its instance type is not known"}
	}
	if v := p.PodsMayGo(c, false); !v.OK() {
		return v
	}
	return st.Incoming(c)
}
