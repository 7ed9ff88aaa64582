package consolidate

import (
	"cmp"
	"fmt"
	"math"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// accept adds a command for a proposal that pays. It returns a refusal if removing empty nodes saves as much, if its pods may take
// headroom that costs as much, if a NodePool with policy Balanced rejects the proposal, or if budgets do not allow it. It adds the
// scores to Stats.Moves.
func (s *search) accept(p problem.Proposal) model.Verdict {
	if v := s.refuseForEmptyNodes(p); !v.OK() {
		return v
	}
	if v := s.refuseForHeadroom(p); !v.OK() {
		return v
	}
	moves, v := s.scoreByPool(p)
	s.st.Stats.Moves = append(s.st.Stats.Moves, moves...)
	if !v.OK() {
		return v
	}
	method := "single"
	if len(p.Set) > 1 {
		method = "multi"
	}
	v = s.st.Accept(p.Command(apiv1.DisruptionReasonUnderutilized, method), p.Set...)
	if v.OK() {
		s.st.Gain += p.Payback.Net()
		s.last, s.screen = view{}, nil
	}
	return v
}

// refuseForEmptyNodes returns a refusal if pods would move to empty nodes whose removal saves as much without an eviction.
func (s *search) refuseForEmptyNodes(p problem.Proposal) model.Verdict {
	saves := 0.0
	for _, pl := range p.Plan.Placements {
		c := s.st.Problem.Candidate(pl.Node)
		if c != nil && !s.st.Removed(c) && len(c.Pods) == 0 && s.st.MayRemoveEmpty(c).OK() {
			saves += c.Price
		}
	}
	if saves == 0 || p.Saves > saves+problem.Epsilon {
		return model.Verdict{}
	}
	return model.Verdict{Rule: model.RulePrice, Cause: model.CauseEmptyInstead, Subject: fmt.Sprintf(
		"deleting the empty nodes that %s would move to saves as much ($%.4f/h) without evictions", pods(p), p.Saves)}
}

// balancedThreshold is the lowest score of a move under consolidationPolicy Balanced. The saved share of the pool's
// price must be at least half of the disrupted share of the pool.
const balancedThreshold = 0.5

// scoreByPool returns a Move for each NodePool from which the proposal removes nodes, and a refusal if one of them has policy
// Balanced and rejects the proposal. The saving is divided among the NodePools in proportion to the prices of their removed nodes.
func (s *search) scoreByPool(p problem.Proposal) (moves []problem.Move, no model.Verdict) {
	all := 0.0 // with commitments, this differs from the price of the set
	for _, c := range p.Set {
		all += c.Price
	}
	all = cmp.Or(all, p.Price)
	for _, pool := range s.st.Problem.Snapshot.Pools() {
		price, disturbs := totals(p.Set, pool.Name)
		if disturbs == 0 {
			continue
		}
		m := problem.Move{Pool: pool.Name, Policy: pool.Object.Spec.Disruption.ConsolidationPolicy}
		if m.Policy == apiv1.ConsolidationPolicyBalanced {
			m.Score, m.Scored = s.score(pool.Name, p.Saves*price/all, disturbs), true
			m.ScoreApproved = m.Score >= balancedThreshold
		}
		if m.Scored && !m.ScoreApproved && no.OK() {
			no = model.Verdict{Rule: model.RulePayback, Cause: model.CauseBalanced, Key: pool.Name, Subject: fmt.Sprintf(
				"consolidation score %.2f is below %.2f (consolidationPolicy: Balanced)", math.Floor(m.Score*100)/100, balancedThreshold)}
		}
		moves = append(moves, m)
	}
	for i := range moves {
		moves[i].Approved = no.OK()
	}
	return moves, no
}

// score returns the score of a move for the pool: the saved share of the pool's price divided by the disrupted share of the pool.
// The formula is that of upstream Karpenter: see docs/consolidation.md#balanced.
func (s *search) score(pool string, saves, disturbs float64) float64 {
	price, all := totals(s.st.Problem.Candidates, pool)
	switch {
	case saves <= 0 || price <= 0 || all <= 0:
		return 0
	case disturbs <= 0:
		return math.Inf(1)
	}
	return (saves / price) / (disturbs / all)
}

// totals returns the price of the pool's candidates in list and the disruption by removing them: 1 per node, plus the
// eviction cost of its pods.
func totals(list []*problem.Candidate, pool string) (price, disturbs float64) {
	for _, c := range list {
		if c.Node.Pool == pool {
			price += c.Price
			disturbs += 1 + c.EvictionCost
		}
	}
	return price, disturbs
}
