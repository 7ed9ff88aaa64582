package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A role is how a pod came to its place.
type role struct {
	class *class
	stage *stage
	// domains are those that its node may be in, none if it lacks the label.
	domains func(g *group) []int
	counts  func(g *group) int
}

// roles returns how each pod that has a place came to it.
func (p *problem) roles() map[*model.Pod]role {
	out := map[*model.Pod]role{}
	of := map[*model.Pod]*class{}
	for _, c := range p.classes {
		for _, pod := range slices.Concat(c.promised, c.pods) {
			of[pod] = c
		}
	}
	for _, t := range p.targets {
		for _, pod := range t.pods {
			out[pod] = role{of[pod], of[pod].last(), func(g *group) []int { return p.domainsOf(g, t) }, func(g *group) int {
				if p.eligible(g, t) {
					return counts
				}
				return countsNot
			}}
		}
	}
	for _, l := range p.lots {
		for i, pod := range l.pods[:l.next] {
			r := role{l.class, l.stage, func(g *group) []int { return l.choice.places(g.key) }, func(g *group) int {
				if slices.ContainsFunc(g.with, func(key int) bool { return key != hostKey && l.choice.domain(key) == nowhere }) {
					return countsNot
				}
				return p.counting(g, l.choice.fit)
			}}
			if !l.owns(i) && of[pod] != nil {
				r.class, r.stage = of[pod], of[pod].last()
			}
			out[pod] = r
		}
	}
	return out
}

// uneven places all pods once more in their order, among the daemons that there are on the nodes that were opened, and returns
// the classes with pods that would not be spread as they must.
func (p *problem) uneven(now foresight) map[*class]bool {
	spread := func(i int) bool {
		return p.groups[i].kind == topology.Spread && p.groups[i].key != hostKey && now[i].total > 0
	}
	if !slices.ContainsFunc(p.hands, func(h *hand) bool { return slices.ContainsFunc(h.members, spread) }) {
		return nil
	}
	for i, g := range p.groups {
		if !spread(i) {
			continue
		}
		kept := foreseen{present: g.present, sure: g.sure}
		defer func() { g.present, g.sure = kept.present, kept.sure }()
		g.present, g.sure = slices.Clone(g.before.present), slices.Clone(g.before.sure)
		counted := g.counts
		defer func() { g.counts = counted }()
		g.counts = now[i].counts
		for d := range g.present {
			g.present[d] += now[i].present[d]
			g.sure[d] += now[i].sure[d]
		}
	}
	roles, wrong := p.roles(), map[*class]bool{}
	for _, free := range []bool{false, true} {
		for _, st := range p.order {
			r, placed := roles[st.pod]
			if st.free != free || !placed {
				continue
			}
			for _, x := range r.stage.wide {
				if !spread(x.group) || x.soft {
					continue
				}
				if list := r.domains(p.groups[x.group]); len(list) == 0 || p.allowsAll(&x, list) == 0 {
					wrong[r.class] = true
				}
			}
			for _, m := range r.class.members {
				g := p.groups[m]
				if how := r.counts(g); spread(m) && how != countsNot {
					list := r.domains(g)
					for _, d := range list {
						g.present[d]++
						if how == counts && len(list) == 1 {
							g.sure[d]++
						}
					}
				}
			}
		}
	}
	return wrong
}
