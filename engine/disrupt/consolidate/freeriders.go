package consolidate

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

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

// freeRiders returns the nodes of a proposal whose own move does not pay. Nodes whose pods share planned nodes are
// evaluated together as one group.
func (s *search) freeRiders(p problem.Proposal) (riders []*problem.Candidate) {
	if !p.Verdict.OK() || len(p.Set) < 2 {
		return nil
	}
	groups, ok := groupsOf(p)
	if !ok {
		return nil
	}
	for _, g := range groups {
		price := 0.0
		for _, c := range g.members {
			price += c.Price
		}
		if len(g.members) > 0 && s.st.Problem.PaybackOf(g.members, price-g.replacements, g.replacements).Net() <= 0 {
			riders = append(riders, g.members...)
		}
	}
	return riders
}

// A group is the nodes of a set whose pods share planned nodes, with the price of those planned nodes.
type group struct {
	members      []*problem.Candidate
	replacements float64
}

// groupsOf divides the set into groups, some of which may be empty. ok is false if a planned node has pods that no node
// of the set has.
func groupsOf(p problem.Proposal) (groups []group, ok bool) {
	owner, groupOf := map[string]int{}, make([]int, len(p.Set)) // a group has the index of one of its nodes
	for i, c := range p.Set {
		groupOf[i] = i
		for _, pod := range c.Pods {
			owner[pod.Key] = i
		}
	}
	for i := range p.Plan.Nodes {
		first := -1
		for _, pod := range p.Plan.Nodes[i].Pods {
			at, known := owner[pod.Key]
			if !known {
				return nil, false
			}
			if first < 0 {
				first = groupOf[at]
			}
			for was, k := groupOf[at], 0; was != first && k < len(groupOf); k++ {
				if groupOf[k] == was {
					groupOf[k] = first
				}
			}
		}
	}
	groups = make([]group, len(p.Set))
	for i, c := range p.Set {
		g := &groups[groupOf[i]]
		g.members = append(g.members, c)
	}
	for i := range p.Plan.Nodes {
		n := &p.Plan.Nodes[i]
		groups[groupOf[owner[n.Pods[0].Key]]].replacements += n.Price()
	}
	return groups, true
}
