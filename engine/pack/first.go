package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/topology"
)

// A first is the pod that came as the first of its kind: nobody like it was sure to be where it came, and elsewhere there was
// nobody at all. Pods of daemons that something may keep off their nodes do it no harm in its own domain: there they are
// company, or they are not there, and then it needs none. Nor do those elsewhere that are of one bloc with such.
type first struct {
	class  *class // nil if there is none
	domain int    // where it is, unsettled for one of several, nowhere for a new node
	lot    *lot   // to the node of which it came then
}

// mayBeFirst reports whether a pod that wants to be near its like may come where none of them is sure to be, but maybe so many
// pods of daemons: nobody like it is anywhere else, nor about to come, unless those that are cannot be placed.
func (p *problem) mayBeFirst(r *rule, maybe int) bool {
	g := p.groups[r.group]
	if !r.self || g.total > maybe ||
		slices.ContainsFunc(r.kin, func(k int) bool { return p.groups[k].total > p.groups[k].doubts }) {
		return false
	}
	if p.bold {
		return true
	}
	for g.done < len(g.classes) && g.classes[g.done].left() == 0 {
		g.done++
	}
	return !slices.ContainsFunc(g.classes[g.done:], func(c *class) bool { return c != p.placing && c.left() > 0 })
}

// goAhead notes whether the next pod of c comes to domain d, or to one of several, as the first of its kind by one of its rules. It
// must not be counted yet.
func (p *problem) goAhead(c *class, r *rule, d int) {
	g := p.groups[r.group]
	if r.kind == topology.Near && !r.soft && (d >= 0 && g.present[d] == 0 || d == unsettled && g.total <= g.doubts) {
		g.first = first{class: c, domain: d}
	}
}

// leanOn notes where a pod of c comes to a node that is there as the first of its kind among pods of daemons that may be there.
func (p *problem) leanOn(c *class, s *stage, t *target) {
	for _, rules := range [][]rule{s.wide, s.host} {
		for i := range rules {
			if g := p.groups[rules[i].group]; g.total > 0 {
				p.goAhead(c, &rules[i], t.domain(g.key))
			}
		}
	}
}

// goAheadOn notes that the first pod of the lot, one of c, comes to its node as the first of its kind there and anywhere.
func (p *problem) goAheadOn(l *lot, c *class, s *stage) {
	for i := range s.host {
		if r := &s.host[i]; r.kind == topology.Near && !r.soft {
			p.groups[r.group].first = first{class: c, domain: nowhere, lot: l}
		}
	}
}

// forsaken reports whether a pod of c came as the first of the group, and pods of daemons come elsewhere with nodes that were
// opened.
func (p *problem) forsaken(c *class, group int) bool {
	return p.groups[group].first.class == c && !p.gathered(group)
}

// gathered reports whether pods of daemons that the group counts come with no opened node but where its first pod is, or only if
// they come there, too.
func (p *problem) gathered(group int) bool {
	return !slices.ContainsFunc(p.nodes, func(o *opened) bool { return p.scatters(o, group) })
}

// scatters reports whether an opened node may bring a pod of a daemon that the group counts elsewhere than where its first pod is, while
// none comes there.
func (p *problem) scatters(o *opened, group int) bool {
	g := p.groups[group]
	return slices.ContainsFunc(p.crewUnder(o), func(m crewman) bool {
		return slices.Contains(m.hand.members, group) && !p.home(g, o) && !p.atHome(g, p.blocUnder(m, o))
	})
}

// home reports whether an opened node certainly is where the first pod of the group is.
func (p *problem) home(g *group, o *opened) bool {
	if g.key == hostKey {
		return g.first.lot != nil && slices.ContainsFunc(o.share, func(part portion) bool { return part.lot == g.first.lot })
	}
	d := p.domainsUnder(o, g.key)
	return len(d) == 1 && d[0] == g.first.domain
}

// atHome reports whether pods of the bloc are where the first pod of the group is.
func (p *problem) atHome(g *group, id blocKey) bool {
	if id.hand == nil {
		return false
	}
	return g.first.domain >= 0 && slices.ContainsFunc(p.targets, func(t *target) bool {
		return !t.node.Deleting && t.domain(g.key) == g.first.domain &&
			slices.ContainsFunc(t.crew, func(m crewman) bool { return p.blocAt(m, t) == id })
	}) || slices.ContainsFunc(p.nodes, func(o *opened) bool {
		return p.home(g, o) && slices.ContainsFunc(p.crewUnder(o), func(m crewman) bool { return p.blocUnder(m, o) == id })
	})
}

// expectNear counts the pods of daemons that come with an opened node for those who want to be near them: in the domain where
// they are if they come. They may never do if nobody else asks for the node.
func (r *repairer) expectNear(o *opened) {
	for _, m := range r.crewUnder(o) {
		for _, i := range m.hand.members {
			g := r.groups[i]
			switch d := r.domainsUnder(o, g.key); {
			case g.kind != topology.Near:
			case g.key == hostKey:
				g.doubt(r.blocUnder(m, o), nowhere)
			case len(d) == 1:
				g.doubt(r.blocUnder(m, o), d[0])
			}
		}
	}
}

// mayLead reports whether a pod of the lot may come to an opened node as the first of its kind.
func (r *repairer) mayLead(l *lot, o *opened) bool {
	return !slices.ContainsFunc(l.rules, func(x rule) bool {
		return x.kind == topology.Near && !r.mayBeFirst(&x, r.maybeOn(o, x.group))
	})
}

// deserts reports whether a new node would bring pods of daemons elsewhere than where a pod came as the first of their kind.
func (r *repairer) deserts(o *opened) bool {
	if len(r.hands) == 0 {
		return false
	}
	for i, g := range r.groups {
		if g.first.class != nil && r.scatters(o, i) {
			return true
		}
	}
	return false
}
