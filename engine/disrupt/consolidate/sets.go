package consolidate

import (
	"cmp"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

const (
	// nodesPerSet bounds the nodes of a set.
	nodesPerSet = 50
	// few is the number of candidates up to which sets are not split any more, and combinations are tried instead.
	few = 6
	// replaceBelow is the share of its price that a node must reach in worth if it were full. Below that it is replaced rather
	// than filled with pods of other nodes.
	replaceBelow = 0.95
)

// A search is one consolidation by one strategy.
type search struct {
	st       *problem.State
	strategy strategy
	cursor   Cursor
	// candidates are sorted by the waste that their removal ends, relative to what it disturbs: most first.
	candidates []*problem.Candidate
	movable    map[*problem.Candidate]bool // the candidates
	// underfilled says that a proposal would have left candidates underfilled.
	underfilled bool
	last        view // the view that was made last
}

func newSearch(from *problem.State, candidates []*problem.Candidate, way strategy, cursor Cursor) *search {
	candidates = slices.Clone(candidates)
	slices.SortFunc(candidates, func(a, b *problem.Candidate) int {
		return cmp.Or(
			cmp.Compare(b.Waste()/(1+b.EvictionCost), a.Waste()/(1+a.EvictionCost)),
			strings.Compare(a.Node.Name, b.Node.Name),
		)
	})
	s := &search{st: from.Clone(), strategy: way, candidates: candidates, movable: map[*problem.Candidate]bool{}, cursor: cursor}
	for _, c := range candidates {
		s.movable[c] = true
	}
	return s
}

// run removes candidates in sets, then one by one.
func (s *search) run() *search {
	if len(s.candidates) <= few {
		s.combinations()
	} else {
		replaced, filled := s.split()
		s.sets(replaced, replaced...)
		s.sets(filled)
	}
	s.singles()
	return s
}

// split separates candidates that could not be worth their price even if they were full from the others. Candidates that
// cannot pay for their move are in neither list.
func (s *search) split() (replaced, filled []*problem.Candidate) {
	for _, c := range s.candidates {
		best := s.st.Problem.PaybackOf([]*problem.Candidate{c}, c.Waste(), c.Worth) // its pods cost their worth at least
		switch {
		case best.Net() <= 0:
		case s.st.Problem.FullWorth(c) < replaceBelow:
			replaced = append(replaced, c)
		default:
			filled = append(filled, c)
		}
	}
	return replaced, filled
}

// sets removes the candidates in sets, as many at a time as budgets allow. The closed ones receive no pods meanwhile.
func (s *search) sets(list []*problem.Candidate, closed ...*problem.Candidate) {
	for len(list) > 0 && !s.st.Exhausted() {
		set, rest := s.nextSet(list)
		if len(set) == 0 {
			return
		}
		s.removeOrHalve(set, closed)
		list = rest
	}
}

// nextSet picks the first candidates that may be removed together. Candidates that may not are left to singles.
func (s *search) nextSet(list []*problem.Candidate) (set, rest []*problem.Candidate) {
	pods := 0
	for _, c := range s.available(list) {
		if full := len(set) == nodesPerSet || len(set) > 0 && pods+len(c.Pods) > s.strategy.podsPerSet; full {
			rest = append(rest, c)
			continue
		}
		if !s.st.Allow(append(set, c), apiv1.DisruptionReasonUnderutilized).OK() {
			continue
		}
		set, pods = append(set, c), pods+len(c.Pods)
	}
	return set, rest
}

// available returns the candidates that no command removes or moves pods to.
func (s *search) available(list []*problem.Candidate) []*problem.Candidate {
	return slices.DeleteFunc(slices.Clone(list), func(c *problem.Candidate) bool {
		return s.st.Taken(c) || !s.st.Incoming(c).OK()
	})
}

// removeOrHalve removes the set if that pays, otherwise tries each half of it.
func (s *search) removeOrHalve(set, closed []*problem.Candidate) {
	set = s.available(set)
	if len(set) == 0 || s.st.Exhausted() {
		return
	}
	v := s.view(closed)
	if p := s.extend(v, s.propose(v, set)); p.Verdict.OK() && s.accept(v, p).OK() {
		return
	}
	if len(set) > few {
		s.removeOrHalve(set[:len(set)/2], closed)
		s.removeOrHalve(set[len(set)/2:], closed)
	}
}

// combinations accepts the best of all candidates together and each by itself, then begins again with the others.
func (s *search) combinations() {
	for list := s.available(s.candidates); len(list) > 1 && !s.st.Exhausted(); list = s.available(list) {
		var best problem.Proposal
		found := false
		v := s.view(nil)
		if set, _ := s.nextSet(list); len(set) > 1 {
			best = s.propose(v, set)
			found = best.Verdict.OK()
		}
		for _, c := range list {
			p := s.price(s.st.WhatIf(v.cluster, []*problem.Candidate{c}))
			if p.Verdict.OK() && (!found || p.Payback.Net() > best.Payback.Net()+problem.Epsilon) {
				best, found = p, true
			}
		}
		if !found || !s.accept(v, best).OK() {
			return
		}
	}
}
