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
	return p.recite(spread)
}

// maxLooks bounds how often those who wait are looked at.
const maxLooks = 100_000

// recite places the pods in their order, and returns the classes with pods that would not be spread as they must over the groups
// that spread tells. Who finds no place in his turn may wait for those after him, if nobody waits for him.
func (p *problem) recite(spread func(group int) bool) map[*class]bool {
	roles, wrong := p.roles(), map[*class]bool{}
	well := func(r *role) bool {
		return !slices.ContainsFunc(r.stage.wide, func(x rule) bool {
			if !spread(x.group) || x.soft {
				return false
			}
			list := r.domains(p.groups[x.group])
			return len(list) == 0 || p.allowsAll(&x, list) == 0
		})
	}
	var order, late []step
	come := func(st step, r *role) {
		order = append(order, st)
		for _, m := range r.class.members {
			if how := r.counts(p.groups[m]); spread(m) && how != countsNot {
				p.groups[m].appear(r.domains(p.groups[m]), how)
			}
		}
	}
	for _, st := range p.inTurn() {
		r, placed := roles[st.pod]
		switch {
		case !placed:
			order = append(order, st)
		case !well(&r) && !p.awaited(r.class):
			late = append(late, st)
		default:
			if !well(&r) {
				wrong[r.class] = true
			}
			come(st, &r)
		}
	}
	for came, looks := true, maxLooks; came && len(late) > 0 && looks > 0; looks -= len(late) + 1 {
		came = false
		late = slices.DeleteFunc(late, func(st step) bool {
			r := roles[st.pod]
			if !well(&r) {
				return false
			}
			come(st, &r)
			came = true
			return true
		})
	}
	for _, st := range late {
		r := roles[st.pod]
		wrong[r.class] = true
		come(st, &r)
	}
	p.order = order
	return wrong
}

// awaited reports whether somebody wants to be near pods of c.
func (p *problem) awaited(c *class) bool {
	return slices.ContainsFunc(c.members, func(m int) bool { return p.groups[m].kind == topology.Near })
}

// appear counts a pod on a node that may be in any of the domains.
func (g *group) appear(list []int, how int) {
	for _, d := range list {
		g.present[d]++
		if how == counts && len(list) == 1 {
			g.sure[d]++
		}
	}
}

// inTurn returns the steps as they are taken, those last that nobody counts.
func (p *problem) inTurn() []step {
	out := make([]step, 0, len(p.order))
	for _, free := range []bool{false, true} {
		for _, st := range p.order {
			if st.free == free {
				out = append(out, st)
			}
		}
	}
	return out
}
