package consolidate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

// underfilledBelow is the share of its price that a node must reach in worth once it has received pods. Below that it may be
// better to remove it, too.
const underfilledBelow = 0.93

// extend adds candidates to a proposal as long as that pays more: those that it would leave underfilled, then some of those
// that it leaves alone. A candidate that is added must not be launched again as it was, for it would be kept underfilled.
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

// better returns the one of two proposals that pays more, the first if they are equal.
func better(p, q problem.Proposal) problem.Proposal {
	if pays(q, p) {
		return q
	}
	return p
}

// pays reports whether p is feasible and pays more than q.
func pays(p, q problem.Proposal) bool {
	return p.Verdict.OK() && (!q.Verdict.OK() || p.Payback.Net() > q.Payback.Net()+problem.Epsilon)
}

// underfilledBy returns the candidates that would receive pods of the proposal and cost much more than the worth of their
// pods even then.
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

// mostWasteful returns a few of the candidates that the proposal leaves alone, those first that would waste most.
func (s *search) mostWasteful(p problem.Proposal) []*problem.Candidate {
	received := s.received(p)
	waste := func(c *problem.Candidate) float64 { return c.Waste() - received[c] }
	out := except(s.candidates, p.Set)
	slices.SortFunc(out, func(a, b *problem.Candidate) int {
		return cmp.Or(cmp.Compare(waste(b), waste(a)), strings.Compare(a.Node.Name, b.Node.Name))
	})
	return out[:min(len(out), few)]
}

// received returns the worth of the pods that the proposal sends to each candidate.
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
