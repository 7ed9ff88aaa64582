package consolidate

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

// maxRounds bounds how often propose repeats the plan because nodes are kept.
const maxRounds = 3

// propose creates a proposal to remove the set, prices it, and drops free riders from it. If the plan would launch a node of
// the set again with the same type, that node is kept and may receive pods. The other nodes are then planned again.
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

// launchedAgain returns the nodes of the set that the plan would launch again. For each planned node it selects the
// node with the same type and capacity type whose pods cost most to evict.
func launchedAgain(p problem.Proposal) []*problem.Candidate {
	var out []*problem.Candidate
	for i := range p.Plan.Nodes {
		n := &p.Plan.Nodes[i]
		var best *problem.Candidate
		for _, c := range p.Set {
			same := c.Type() == n.Options[0].Name && c.CapacityType() == n.Offering.CapacityType && !slices.Contains(out, c)
			if same && (best == nil || c.EvictionCost >= best.EvictionCost) { // of equal nodes, the one with the least waste
				best = c
			}
		}
		if best != nil {
			out = append(out, best)
		}
	}
	return out
}
