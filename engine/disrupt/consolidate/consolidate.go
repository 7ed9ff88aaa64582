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

// A strategy is a way to make sets.
type strategy struct {
	// podsPerSet bounds the pods of a set.
	podsPerSet int
	// extends adds to a proposal the nodes that it would leave underfilled.
	extends bool
	// exhaustive looks at each candidate in the whole cluster, without screening.
	exhaustive bool
}

// The strategies. What gains most at first may leave less to gain in the end, so the second is followed to its end too if the
// first would leave nodes underfilled and there are few candidates. The one that gains more is taken.
var (
	plain     = strategy{podsPerSet: 800}
	extending = strategy{podsPerSet: 5000, extends: true}
)

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
	best := newSearch(st, candidates, plain, cursor).run()
	if best.underfilled {
		other := newSearch(st, candidates, extending, cursor).run()
		if other.st.Gain > best.st.Gain+problem.Epsilon {
			best, other = other, best
		}
		best.st.Stats.WhatIfs += other.st.Stats.WhatIfs - st.Stats.WhatIfs
		best.st.Stats.Screened += other.st.Stats.Screened - st.Stats.Screened
	}
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
