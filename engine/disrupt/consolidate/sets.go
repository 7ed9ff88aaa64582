package consolidate

import (
	"cmp"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

const (
	// nodesPerSet and podsPerSet bound a set.
	nodesPerSet, podsPerSet = 50, 800
	// Up to few candidates are searched by combinations, more by sets. A set of at most few nodes is not halved.
	few = 6
	// A node whose Problem.FullWorth is below replaceBelow is replaced. It is not filled with pods of other nodes.
	replaceBelow = 0.95
)

// A search is one consolidation. It accepts the best moves first, so later moves may save less.
type search struct {
	st     *problem.State
	cursor Cursor
	// exhaustive evaluates each candidate in the whole cluster, without screening. Only tests set it.
	exhaustive bool
	// candidates are sorted by waste divided by the disruption that their removal causes, highest first.
	candidates []*problem.Candidate
	last       view // the most recent view
}

func newSearch(from *problem.State, candidates []*problem.Candidate, cursor Cursor) *search {
	candidates = slices.Clone(candidates)
	slices.SortFunc(candidates, func(a, b *problem.Candidate) int {
		return cmp.Or(
			cmp.Compare(b.Waste()/(1+b.EvictionCost), a.Waste()/(1+a.EvictionCost)),
			strings.Compare(a.Node.Name, b.Node.Name),
		)
	})
	return &search{st: from.Clone(), candidates: candidates, cursor: cursor}
}

// run removes candidates in sets, then individually.
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

// split divides the candidates into two lists. replaced are nodes that even full of pods would cost more than capacity
// elsewhere: their FullWorth is below replaceBelow. filled are all others, onto which pods of other nodes may move.
// Candidates whose removal cannot pay for their evictions are in neither list.
func (s *search) split() (replaced, filled []*problem.Candidate) {
	for _, c := range s.candidates {
		best := s.st.Problem.PaybackOf([]*problem.Candidate{c}, c.Waste(), c.Worth) // the pods cost at least their worth elsewhere
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

// sets removes the candidates of list, as many together as the budgets and the bounds of a set allow. No pods move to the
// candidates in closed.
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

// nextSet returns the first candidates that budgets allow to remove together, up to the bounds of a set, and the rest.
// Candidates that budgets do not allow are in neither; singles evaluates them.
func (s *search) nextSet(list []*problem.Candidate) (set, rest []*problem.Candidate) {
	pods := 0
	for _, c := range s.available(list) {
		if full := len(set) == nodesPerSet || len(set) > 0 && pods+len(c.Pods) > podsPerSet; full {
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

// available returns the candidates of list that no command removes or moves pods to.
func (s *search) available(list []*problem.Candidate) []*problem.Candidate {
	return slices.DeleteFunc(slices.Clone(list), func(c *problem.Candidate) bool {
		return s.st.Taken(c) || !s.st.Incoming(c).OK()
	})
}

// removeOrHalve removes the set if that pays. Otherwise it does the same with each half of the set.
func (s *search) removeOrHalve(set, closed []*problem.Candidate) {
	set = s.available(set)
	if len(set) == 0 || s.st.Exhausted() {
		return
	}
	v := s.view(closed)
	if p := s.propose(v, set); p.Verdict.OK() && s.accept(v, p).OK() {
		return
	}
	if len(set) > few {
		s.removeOrHalve(set[:len(set)/2], closed)
		s.removeOrHalve(set[len(set)/2:], closed)
	}
}

// combinations accepts the best of these proposals: all candidates together, or one of them. It repeats this with the
// remaining ones.
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
