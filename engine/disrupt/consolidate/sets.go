package consolidate

import (
	"cmp"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

const (
	// maxCombined is the number of candidates up to which removeCombinations is called instead of removeInSets.
	maxCombined = 6
	// minHalved is the smallest size of a set that removeOrHalve halves.
	minHalved = 7
	// maxExtensions is the largest number of candidates that extend tries to add to one proposal.
	maxExtensions = 6
	// replaceBelow is a bound of Problem.FullWorth. Below it, a node is replaced rather than filled with pods of other
	// nodes.
	replaceBelow = 0.95
)

// A search is one consolidation with one strategy.
type search struct {
	st       *problem.State
	strategy strategy
	cursor   Cursor
	// candidates are sorted by waste divided by (1 + eviction cost), highest first.
	candidates []*problem.Candidate
	last       view     // the most recent view of the State's cluster, zero after each command
	screen     *reduced // the reduced cluster for screening, nil after each command
	results    Results  // of the candidates that removeSingly kept
}

func newSearch(from *problem.State, candidates []*problem.Candidate, way strategy, cursor Cursor) *search {
	candidates = slices.Clone(candidates)
	slices.SortFunc(candidates, func(a, b *problem.Candidate) int {
		return cmp.Or(
			cmp.Compare(b.Waste()/(1+b.EvictionCost), a.Waste()/(1+a.EvictionCost)),
			strings.Compare(a.Node.Name, b.Node.Name),
		)
	})
	return &search{st: from.Clone(), strategy: way, candidates: candidates, cursor: cursor, results: Results{}}
}

// run removes candidates in sets, then individually.
func (s *search) run() *search {
	if len(s.candidates) <= maxCombined {
		s.removeCombinations()
	} else {
		replaced, filled := s.splitByWorth()
		if s.strategy.joint {
			s.removeJointly(slices.Concat(replaced, filled))
		}
		s.removeInSets(replaced, replaced...)
		s.removeInSets(filled)
	}
	s.removeSingly()
	return s
}

// removeJointly removes all candidates of list, or as many as the strategy allows, in one set, if that pays. The plan for their
// pods chooses all nodes anew. If keeping the nodes that it would launch again pays more (see propose), these are kept.
func (s *search) removeJointly(list []*problem.Candidate) {
	set, _ := s.nextSet(list)
	if len(set) == 0 {
		return
	}
	v := s.view(nil)
	p := better(s.propose(v, set), s.price(s.st.WhatIf(v.cluster, set)))
	if p.Verdict.OK() {
		s.accept(p) // if it is refused, removeInSets tries parts of the list
	}
}

// splitByWorth divides the candidates into those to replace (see replaceBelow) and those that may be filled. Candidates whose
// removal cannot pay for their evictions are in neither list.
func (s *search) splitByWorth() (replaced, filled []*problem.Candidate) {
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

// removeInSets removes candidates of list, where that pays, in sets as large as budgets allow. Candidates in closed receive no
// pods.
func (s *search) removeInSets(list []*problem.Candidate, closed ...*problem.Candidate) {
	for len(list) > 0 && !s.st.Exhausted() {
		set, rest := s.nextSet(list)
		if len(set) == 0 {
			return
		}
		s.removeOrHalve(set, closed)
		list = rest
	}
}

// nextSet adds the available candidates of list to a set, in order, within the bounds of the strategy. A single candidate may
// have more pods than podsPerSet. rest are the candidates that exceed the bounds. Candidates that budgets do not allow in
// addition are in neither list; removeSingly evaluates them.
func (s *search) nextSet(list []*problem.Candidate) (set, rest []*problem.Candidate) {
	pods := 0
	for _, c := range s.available(list) {
		if full := len(set) == s.strategy.nodesPerSet || len(set) > 0 && pods+len(c.Pods) > s.strategy.podsPerSet; full {
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
		return s.st.Removed(c) || !s.st.Incoming(c).OK()
	})
}

// removeOrHalve removes the set if that pays. Otherwise, if the set has at least minHalved nodes, it does the same with
// each half.
func (s *search) removeOrHalve(set, closed []*problem.Candidate) {
	set = s.available(set)
	if len(set) == 0 || s.st.Exhausted() {
		return
	}
	v := s.view(closed)
	p := s.propose(v, set)
	if s.strategy.extends {
		p = s.extend(v, p)
	}
	if p.Verdict.OK() && s.accept(p).OK() {
		return
	}
	if len(set) >= minHalved {
		s.removeOrHalve(set[:len(set)/2], closed)
		s.removeOrHalve(set[len(set)/2:], closed)
	}
}

// removeCombinations accepts the best of these proposals: all candidates together, or one of them. It repeats this while
// at least two candidates remain and a proposal is accepted.
func (s *search) removeCombinations() {
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
		if !found || !s.accept(best).OK() {
			return
		}
	}
}
