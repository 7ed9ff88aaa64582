package consolidate

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

// maxRounds bounds how often nodes are kept in one proposal.
const maxRounds = 3

// propose makes a proposal to remove the set, and prices it. A node that would be launched again as it was is kept instead:
// its pods stay, and it receives pods of others. Each such round makes a new plan.
func (s *search) propose(v view, set []*problem.Candidate) problem.Proposal {
	var kept []*problem.Candidate
	for round := 0; ; round++ {
		p := s.st.WhatIf(s.open(v, kept...).cluster, set)
		again := launchedAgain(p)
		if round == maxRounds || len(again) == 0 || len(again) == len(set) {
			return s.dropFreeRiders(v, s.price(p), kept)
		}
		kept, set = append(kept, again...), except(set, again)
	}
}

// launchedAgain returns the nodes of the set that the plan would launch again: for each planned node the one of the same type
// and capacity type that costs most to evict.
func launchedAgain(p problem.Proposal) []*problem.Candidate {
	var out []*problem.Candidate
	for i := range p.Plan.Nodes {
		n := &p.Plan.Nodes[i]
		var best *problem.Candidate
		for _, c := range p.Set {
			same := c.Type() == n.Options[0].Name && c.CapacityType() == n.Offering.CapacityType && !slices.Contains(out, c)
			if same && (best == nil || c.EvictionCost >= best.EvictionCost) { // of equal ones the one with the least waste
				best = c
			}
		}
		if best != nil {
			out = append(out, best)
		}
	}
	return out
}
