package consolidate

import (
	"fmt"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// screeningAbove is the number of candidates above which those with unconstrained pods are screened: see reduced.mayPay.
const screeningAbove = 50

// removeSingly evaluates each remaining candidate alone, until MaxWhatIfs is reached. Each candidate that stays gets a verdict.
func (s *search) removeSingly() {
	list := s.resumed()
	screening := len(list) > screeningAbove && !s.strategy.exhaustive
	for i, c := range list {
		if s.st.Removed(c) {
			continue
		}
		v := mayConsolidate(s.st, c)
		if v.OK() {
			v = s.st.Allow([]*problem.Candidate{c}, apiv1.DisruptionReasonUnderutilized)
		}
		blocked := v
		switch {
		case v.OK() && s.st.Exhausted():
			blocked = model.Verdict{Rule: model.RuleEffort, Cause: model.CauseNextPass}
			if !s.st.Stats.Exhausted && i > 0 {
				s.cursor.After = list[i-1].Node.Name
			}
			s.st.Stats.Exhausted = true
		case v.OK():
			if v = s.removeAlone(c, screening); v.OK() {
				continue
			}
			blocked = v
		}
		s.st.Block(c, blocked)
		s.results[c.Node.Name] = resultOf(s.st, c, v)
	}
	if !s.st.Stats.Exhausted {
		s.cursor.After = ""
	}
}

// removeAlone accepts a command that removes the candidate, or returns why it must stay. If screening is set and the pods of the
// candidate are unconstrained, the candidate is evaluated in the reduced cluster first.
func (s *search) removeAlone(c *problem.Candidate, screening bool) model.Verdict {
	if screening && unconstrained(c.Pods) {
		if s.screen == nil {
			s.screen = reduce(s.st.Problem, s.view(nil).cluster)
		}
		s.st.Stats.Screened++
		if v := s.screen.mayPay(c); !v.OK() {
			return v
		}
	}
	p := s.price(s.st.WhatIf(s.view(nil).cluster, []*problem.Candidate{c}))
	if !p.Verdict.OK() {
		return p.Verdict
	}
	return s.accept(p)
}

// resumed returns the candidates in the order in which removeSingly evaluates them. If the last decision reached MaxWhatIfs,
// the order is by name, beginning after the cursor.
func (s *search) resumed() []*problem.Candidate {
	after := s.cursor.After
	if after == "" {
		return s.candidates
	}
	list := slices.Clone(s.candidates)
	slices.SortFunc(list, func(a, b *problem.Candidate) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	first := max(0, slices.IndexFunc(list, func(c *problem.Candidate) bool { return c.Node.Name > after }))
	return slices.Concat(list[first:], list[:first])
}

// mayPay returns a refusal if removing c does not pay in the reduced cluster. The pods of c must be unconstrained.
func (r *reduced) mayPay(c *problem.Candidate) model.Verdict {
	if plan := r.plan(c); len(plan.Refusals) == 0 {
		price := problem.PriceOf(plan.Nodes)
		if r.problem.PaybackOf([]*problem.Candidate{c}, c.Price-price, price).Net() > 0 {
			return model.Verdict{}
		}
	}
	return model.Verdict{Rule: model.RulePrice, Subject: fmt.Sprintf(
		"can't replace with a cheaper node: no sufficiently cheaper instance type holds the %s of this node ($%.4f/h)",
		units.Counted(len(c.Pods), "pod"), c.Price)}
}
