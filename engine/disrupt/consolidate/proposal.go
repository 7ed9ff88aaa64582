package consolidate

import (
	"cmp"
	"slices"
	"strings"

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

// dropFreeRiders removes the free riders from a proposal: nodes whose own move does not pay for its evictions. In the
// new plan, the free riders and the nodes in kept may receive pods. It returns p if the new plan does not increase the
// net gain, if no node or each node is a free rider, or if the what-ifs of the decision are used up.
func (s *search) dropFreeRiders(v view, p problem.Proposal, kept []*problem.Candidate) problem.Proposal {
	riders := s.freeRiders(p)
	if len(riders) == 0 || len(riders) == len(p.Set) || s.st.Exhausted() {
		return p
	}
	open := s.open(v, slices.Concat(kept, riders)...)
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

// underfilledBelow defines underfilled nodes: the worth of their pods, including those that they receive, is below this
// share of their price.
const underfilledBelow = 0.93

// extend adds candidates to a proposal as long as that increases its net gain. First it adds all nodes that the
// proposal would leave underfilled. Then it adds the most wasteful of the other candidates, one at a time. extend
// excludes the types of added candidates from the plan, because a new node of such a type could be underfilled again.
// For the underfilled nodes it also tries the plan with all types. If the strategy does not extend, extend only records
// in s whether nodes would be left underfilled. With more than screeningFrom candidates it does nothing.
func (s *search) extend(v view, p problem.Proposal) problem.Proposal {
	if len(s.candidates) > screeningFrom {
		return p
	}
	underfilled := s.underfilledBy(p)
	s.underfilled = s.underfilled || len(underfilled) > 0
	if !s.strategy.extends {
		return p
	}
	var added []*problem.Candidate
	for len(underfilled) > 0 && !s.st.Exhausted() {
		set, _ := s.nextSet(slices.Concat(p.Set, underfilled))
		if len(set) <= len(p.Set) {
			break
		}
		added = append(added, underfilled...)
		next := better(s.propose(v, set), s.propose(s.withoutTypes(v, added), set))
		if !pays(next, p) {
			break
		}
		p = next
		underfilled = s.underfilledBy(p)
	}
	for _, c := range s.mostWasteful(p) {
		if s.st.Exhausted() {
			break
		}
		set, _ := s.nextSet(append(slices.Clone(p.Set), c))
		if len(set) > len(p.Set) {
			p = better(p, s.propose(s.withoutTypes(v, append(slices.Clone(added), c)), set))
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

// underfilledBy returns the candidates that would receive pods of the proposal and would be underfilled even then.
func (s *search) underfilledBy(p problem.Proposal) (out []*problem.Candidate) {
	received := s.received(p)
	for i := range p.Plan.Placements {
		c := s.st.Problem.Candidate(p.Plan.Placements[i].Node)
		if c != nil && s.movable[c] && !slices.Contains(p.Set, c) && c.Worth+received[c] < underfilledBelow*c.Price {
			out = append(out, c)
		}
	}
	return out
}

// mostWasteful returns the candidates outside the proposal with the most waste after it, at most few.
func (s *search) mostWasteful(p problem.Proposal) []*problem.Candidate {
	received := s.received(p)
	waste := func(c *problem.Candidate) float64 { return c.Waste() - received[c] }
	out := except(s.candidates, p.Set)
	slices.SortFunc(out, func(a, b *problem.Candidate) int {
		return cmp.Or(cmp.Compare(waste(b), waste(a)), strings.Compare(a.Node.Name, b.Node.Name))
	})
	return out[:min(len(out), few)]
}

// received returns the worth of the pods that the proposal moves to each candidate.
func (s *search) received(p problem.Proposal) map[*problem.Candidate]float64 {
	worth := map[*problem.Candidate]float64{}
	for i := range p.Plan.Placements {
		pl := &p.Plan.Placements[i]
		if c := s.st.Problem.Candidate(pl.Node); c != nil {
			for _, pod := range pl.Pods {
				worth[c] += s.st.Problem.WorthOf(pod.Requests)
			}
		}
	}
	return worth
}
