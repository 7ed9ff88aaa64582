package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A daemon that must be apart from its own pods over a label that nodes share has one pod in each domain, on a node that nobody
// knows before. But where one node alone could have it, that node does. Which nodes there are is known when all others have their
// place: then pods that want to be with such a daemon are tried once more. From then on no further node may bring it to the domain.

// A spot is where a node is: the domains of a label that it may be in. Open says that there may be others.
type spot func(key int) (domains []int, open bool)

// A reliance is a daemon that somebody relies on at a spot, as no other node may have it there.
type reliance struct {
	hand *hand
	at   spot
}

// solitary reports whether nothing but its own anti-affinity may keep the daemon off nodes, and that selects its own pods.
func (h *hand) solitary() bool {
	return h.timid && slices.ContainsFunc(h.foes, func(r foes) bool { return r.own })
}

// spotOf returns where a node is that is there or on its way.
func (p *problem) spotOf(t *target) spot {
	return func(key int) ([]int, bool) {
		label := p.keys[key].label
		switch d := t.domain(key); d {
		case nowhere:
			return nil, !t.open && !t.node.Registered && p.opts.wellKnown(label)
		case unsettled:
			r, _ := t.reqs.Get(label)
			return p.domainsOf(&group{key: key}, t), r.Operator() != require.In
		default:
			return []int{d}, false
		}
	}
}

// spotUnder returns where an opened node is.
func (p *problem) spotUnder(o *opened) spot {
	return func(key int) ([]int, bool) { return p.domainsUnder(o, key), p.vague[key] }
}

// touch reports whether nodes at both spots may be in one domain by which the daemon must be apart from its own pods.
func (h *hand) touch(a, b spot) bool {
	return slices.ContainsFunc(h.foes, func(r foes) bool {
		if !r.own {
			return false
		}
		in, open := a(r.key)
		other, too := b(r.key)
		return open && (too || len(other) > 0) || too && len(in) > 0 || meet(in, other)
	})
}

// only reports whether no node may have the daemon in the domains of a spot but the one that is there: t, or o, nil for one that is not
// opened yet.
func (r *repairer) only(h *hand, at spot, t *target, o *opened) bool {
	if slices.ContainsFunc(r.everywhere, func(x *target) bool {
		return x != t && h.among(x.crew) && h.touch(at, r.spotOf(x))
	}) {
		return false
	}
	for i, x := range r.nodes {
		if x == o {
			o = nil // nodes that are alike are listed several times
		} else if r.mayHave(x, r.loads[i].need, h, at) {
			return false
		}
	}
	return true
}

func (h *hand) among(crew []crewman) bool {
	return slices.ContainsFunc(crew, func(m crewman) bool { return m.hand == h })
}

// mayHave reports whether an opened node, of which the pods have that need, may have the daemon in the domains of a spot.
func (r *repairer) mayHave(o *opened, need []int64, h *hand, at spot) bool {
	found := false
	o.maybe().each(func(j int) {
		sh := o.shelf.pool.shapes[j]
		if found || !sh.holds(need, o.cargo) {
			return // it is none of the node's options
		}
		found = h.among(r.crewOn(o.shelf, o.flavour, j)) && h.touch(at, r.spotAs(o, j))
	})
	return found
}

// spotAs returns where an opened node is if it is launched as shape j.
func (p *problem) spotAs(o *opened, j int) spot {
	as := *o
	as.share = nil
	fl := *o.flavour
	fl.allowed = newMask(len(o.shelf.pool.shapes))
	fl.allowed.set(j)
	as.flavour = &fl
	return p.spotUnder(&as)
}

// escorts reports whether a node that is opened for the lot, or was as instead, has the daemons that its pods want to be with.
func (r *repairer) escorts(l *lot, o, instead *opened) bool {
	if !l.choice.sole {
		return true
	}
	crew := r.crewUnder(o)
	return !slices.ContainsFunc(l.stage.sole.want, func(g int) bool {
		return !slices.ContainsFunc(crew, func(m crewman) bool {
			return slices.Contains(m.hand.members, g) && (m.certain || m.sole && r.only(m.hand, r.spotUnder(o), nil, instead))
		})
	})
}

// rely notes which daemons the lot's pods rely on, on the opened node where they are.
func (r *repairer) rely(l *lot, o *opened) {
	if !l.choice.sole {
		return
	}
	for _, m := range r.crewUnder(o) {
		if m.sole && !m.certain && meet(m.hand.members, l.stage.sole.want) {
			r.reliances = append(r.reliances, reliance{m.hand, r.spotUnder(o)})
		}
	}
}

// intrudes reports whether a new node may have a daemon in a domain where somebody relies on it elsewhere.
func (r *repairer) intrudes(o *opened) bool {
	if len(r.reliances) == 0 {
		return false
	}
	crew := r.crewUnder(o)
	return slices.ContainsFunc(r.reliances, func(x reliance) bool {
		return x.hand.among(crew) && x.hand.touch(x.at, r.spotUnder(o))
	})
}

// onSole places the next pods of c on a node that is there and alone may have the daemons that they want to be with. It returns false
// if there is none.
func (r *repairer) onSole(c *class, s *stage) bool {
	if s.sole == nil {
		return false
	}
	for _, t := range r.targets {
		var on []*hand
		for _, m := range t.crew {
			if m.sole && !m.certain && meet(m.hand.members, s.sole.want) && r.only(m.hand, r.spotOf(t), t, nil) {
				on = append(on, m.hand)
			}
		}
		if len(on) == 0 {
			continue
		}
		r.trust(on, t, 1)
		n := r.room(c, s, t, c.pods[c.next:])
		if n == 0 {
			r.trust(on, t, -1)
			continue
		}
		for _, h := range on {
			r.reliances = append(r.reliances, reliance{h, r.spotOf(t)})
		}
		r.board(c, s, t, n)
		return true
	}
	return false
}

// trust counts the pods of daemons on t for those who want to be near them, or does not any more if n is negative.
func (r *repairer) trust(on []*hand, t *target, n int32) {
	for _, h := range on {
		for _, i := range h.members {
			if g := r.groups[i]; g.kind == topology.Near && t.domain(g.key) >= 0 {
				g.present[t.domain(g.key)] += n
			}
		}
	}
}

// solelyEscorted returns the choices of nodes with daemons of which all company is that pods of c want, if no other node has them in the
// domain.
func (r *repairer) solelyEscorted(c *class, s *stage) []*choice {
	if s.sole == nil {
		return nil
	}
	return r.combinations(c, s, merged(r.keysFor(c, s), r.doubted), nil, s.sole)
}
