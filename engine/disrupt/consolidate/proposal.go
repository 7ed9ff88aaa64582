package consolidate

import (
	"cmp"
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
		p := s.st.WhatIf(s.reopen(v, kept...).cluster, set)
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

// dropFreeRiders removes the free riders from a proposal: nodes whose own move does not pay for its evictions. In the
// new plan, the free riders and the nodes in kept may receive pods. It returns p if the new plan does not increase the
// net gain, if no node or each node is a free rider, or if the what-ifs of the decision are used up.
func (s *search) dropFreeRiders(v view, p problem.Proposal, kept []*problem.Candidate) problem.Proposal {
	riders := s.freeRiders(p)
	if len(riders) == 0 || len(riders) == len(p.Set) || s.st.Exhausted() {
		return p
	}
	open := s.reopen(v, slices.Concat(kept, riders)...)
	q := s.price(s.st.WhatIf(open.cluster, except(p.Set, riders)))
	if q.Verdict.OK() && q.Payback.Net() > p.Payback.Net() {
		return q
	}
	return p
}

// freeRiders returns the nodes of a proposal whose own move does not pay. The price of a planned node is divided among the
// nodes of the set by the worth of their pods on it.
func (s *search) freeRiders(p problem.Proposal) (riders []*problem.Candidate) {
	if !p.Verdict.OK() {
		return nil
	}
	share := map[string]float64{} // by pod
	for i := range p.Plan.Nodes {
		n, total := &p.Plan.Nodes[i], 0.0
		for _, pod := range n.Pods {
			total += s.st.Problem.WorthOf(pod.Requests)
		}
		for _, pod := range n.Pods {
			share[pod.Key] = n.Price() * s.st.Problem.WorthOf(pod.Requests) / cmp.Or(total, 1)
		}
	}
	for _, c := range p.Set {
		replacements := 0.0
		for _, pod := range c.Pods {
			replacements += share[pod.Key]
		}
		if s.st.Problem.PaybackOf([]*problem.Candidate{c}, c.Price-replacements, replacements).Net() <= 0 {
			riders = append(riders, c)
		}
	}
	return riders
}

// extend tries to add maxExtensions other candidates to a proposal, in the order of s.candidates, each if that increases the net
// gain. The plan excludes the type of the added candidate, because a new node of that type could be as badly filled.
func (s *search) extend(v view, p problem.Proposal) problem.Proposal {
	others := except(s.candidates, p.Set)
	for _, c := range others[:min(len(others), maxExtensions)] {
		if s.st.Exhausted() {
			break
		}
		if set, _ := s.nextSet(append(slices.Clone(p.Set), c)); len(set) > len(p.Set) {
			p = better(p, s.propose(s.newView(v.closed, c.Type()), set))
		}
	}
	return p
}

// better returns q if it pays more than p, and otherwise p (see pays).
func better(p, q problem.Proposal) problem.Proposal {
	if pays(q, p) {
		return q
	}
	return p
}

// pays reports whether p is feasible, and q is infeasible or has a net gain that is lower by more than problem.Epsilon.
func pays(p, q problem.Proposal) bool {
	return p.Verdict.OK() && (!q.Verdict.OK() || p.Payback.Net() > q.Payback.Net()+problem.Epsilon)
}
