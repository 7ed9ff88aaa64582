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

// screeningFrom is the number of candidates above which candidates with unconstrained pods are screened with mayPay.
const screeningFrom = 50

// singles evaluates each remaining candidate alone, until MaxWhatIfs is reached. Each candidate that stays gets a verdict.
func (s *search) singles() {
	list := s.resumed()
	var screen *reduced
	for i, c := range list {
		if s.st.Taken(c) {
			continue
		}
		v := mayConsolidate(s.st, c)
		if v.OK() {
			v = s.st.Allow([]*problem.Candidate{c}, apiv1.DisruptionReasonUnderutilized)
		}
		if v.OK() && s.st.Exhausted() {
			s.st.Block(c, model.Verdict{Rule: model.RuleEffort, Cause: model.CauseNextPass})
			s.results[c.Node.Name] = resultOf(s.st, c, v)
			if !s.st.Stats.Exhausted && i > 0 {
				s.cursor.After = list[i-1].Node.Name
			}
			s.st.Stats.Exhausted = true
			continue
		}
		if v.OK() && len(list) > screeningFrom && !s.strategy.exhaustive && unconstrained(c.Pods) {
			if screen == nil {
				screen = reduce(s.st.Problem, s.view(nil).cluster)
			}
			s.st.Stats.Screened++
			v = screen.mayPay(c)
		}
		if v.OK() {
			p := s.price(s.st.WhatIf(s.view(nil).cluster, []*problem.Candidate{c}))
			if v = p.Verdict; v.OK() {
				v = s.accept(p)
			}
			if v.OK() {
				screen = nil
				continue
			}
		}
		s.st.Block(c, v)
		s.results[c.Node.Name] = resultOf(s.st, c, v)
	}
	if !s.st.Stats.Exhausted {
		s.cursor.After = ""
	}
}

// resumed returns the candidates in the order in which singles evaluates them. If the last decision reached MaxWhatIfs,
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
