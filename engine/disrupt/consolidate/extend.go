package consolidate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

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
