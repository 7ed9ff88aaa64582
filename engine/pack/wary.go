package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A wariness is what pods ask of the daemons that new nodes have: some must not be there, of others there must not be too many,
// and those that are wanted must. Pods that ask the same share one; nil asks nothing.
type wariness struct {
	id     int
	avoid  []shunned
	crowds []rule // of pods that are spread over nodes
	want   []int  // the groups of each of which a hand must be there
	sole   bool   // it may be one that nothing but other pods of its daemon keep off
}

// A shunned hand must not be on a node that has the label of the key.
type shunned struct {
	hand *hand
	key  int
}

// beWary sets what pods of the stage ask of daemons on new nodes, and corrects what they may take for granted: where each node
// has some of a daemon's pods, nobody is spread from an empty one.
func (p *problem) beWary(c *class, s *stage) {
	w := &wariness{}
	escorted := false
	s.host = slices.Clone(s.host) // other stages may have the same
	for _, rules := range [][]rule{s.wide, s.host} {
		for i := range rules {
			r := &rules[i]
			g := p.groups[r.group]
			counted := slices.ContainsFunc(p.hands, func(h *hand) bool { return slices.Contains(h.members, r.group) })
			switch {
			case r.kind == topology.Near:
				escorted = true
				w.want = append(w.want, r.group)
				if !counted {
					w.want = append(w.want, -1) // nobody ever is
				}
			case !counted:
			case r.kind == topology.Apart:
				for _, h := range p.hands {
					if slices.Contains(h.members, r.group) {
						w.avoid = append(w.avoid, shunned{h, g.key})
					}
				}
			case g.key == hostKey:
				if r.minDomains <= 1 {
					r.skew += g.base
				}
				w.crowds = append(w.crowds, *r)
			}
		}
	}
	for _, h := range p.hands {
		for _, b := range h.bans {
			if slices.Contains(c.members, b) {
				w.avoid = append(w.avoid, shunned{h, p.groups[b].key})
			}
		}
	}
	alone := *w
	alone.want = nil
	s.wary = p.wariness(&alone)
	if escorted && !slices.Contains(w.want, -1) {
		s.escort = p.wariness(w)
		if slices.ContainsFunc(p.hands, (*hand).solitary) {
			sole := *w
			sole.sole = true
			s.sole = p.wariness(&sole)
		}
	}
}

// wariness returns the one that is like w, nil if it asks nothing.
func (p *problem) wariness(w *wariness) *wariness {
	if len(w.avoid)+len(w.crowds)+len(w.want) == 0 {
		return nil
	}
	b := putInt(p.buf[:0], int64(len(w.avoid)))
	for _, a := range w.avoid {
		b = putInt(putString(b, a.hand.daemon.Key), int64(a.key))
	}
	for _, r := range w.crowds {
		b = append(putInt(putInt(b, int64(r.group)), int64(r.skew)), bit(r.self))
	}
	b = append(putString(b, "wants"), bit(w.sole))
	b = append(b, putKeys(w.want)...)
	p.buf = b
	known := p.warinesses[string(b)]
	if known == nil {
		if p.warinesses == nil {
			p.warinesses = map[string]*wariness{}
		}
		known = w
		known.id = 1 + len(p.warinesses)
		p.warinesses[string(b)] = known
	}
	return known
}

// and returns what those ask who ask for both.
func (p *problem) and(a, b *wariness) *wariness {
	switch {
	case a == nil:
		return b
	case b == nil || a == b:
		return a
	}
	return p.wariness(&wariness{
		avoid: slices.Concat(a.avoid, b.avoid), crowds: slices.Concat(a.crowds, b.crowds), want: slices.Concat(a.want, b.want),
	})
}

func (w *wariness) number() int {
	if w == nil {
		return 0
	}
	return w.id
}

// suited returns the shapes of m on which pods find the daemons as they ask for them.
func (p *problem) suited(m mask, s *shelf, fl *flavour, w *wariness) mask {
	out := newMask(len(s.pool.shapes))
	m.each(func(j int) {
		if p.suits(p.crewOn(s, fl, j), fl.reqs, w) {
			out.set(j)
		}
	})
	return out
}

func (p *problem) suits(crew []crewman, reqs require.Set, w *wariness) bool {
	for _, a := range w.avoid {
		if p.labelled(a.key, reqs) && slices.ContainsFunc(crew, func(m crewman) bool { return m.hand == a.hand }) {
			return false
		}
	}
	for _, r := range w.crowds {
		present := 0
		for _, m := range crew {
			if slices.Contains(m.hand.crowds, r.group) {
				present++
			}
		}
		if present > r.skew || r.self && present == r.skew {
			return false
		}
	}
	return !slices.ContainsFunc(w.want, func(g int) bool {
		return !slices.ContainsFunc(crew, func(m crewman) bool {
			return (m.certain || w.sole && m.sole) && slices.Contains(m.hand.members, g)
		})
	})
}

// elusive returns the choices of nodes of which the offering is settled, for pods that want to be apart from daemons which come
// with some offerings only, or are spread with them.
func (p *problem) elusive(c *class, s *stage) []*choice {
	if s.wary == nil || len(s.wary.avoid)+len(s.wary.crowds) == 0 || len(p.offers) == 0 {
		return nil
	}
	return p.choicesBy(c, s, p.offers)
}

// labelled reports whether new nodes with these labels may have that of the key.
func (p *problem) labelled(key int, reqs require.Set) bool {
	if key == hostKey {
		return true
	}
	if len(p.reach[key]) == 0 && !p.vague[key] {
		return false
	}
	r, ok := reqs.Get(p.keys[key].label)
	return !ok || r.Operator() != require.DoesNotExist
}

// guestsIn returns how many pods of daemons count for pods that are spread over nodes, on a node of shape j in the flavour. The
// result is shared.
func (s *shelf) guestsIn(fl *flavour, j int) guests {
	most := s.pool.shapes[j].guests
	if most == nil || s.crewOn == nil {
		return most
	}
	known, ok := fl.guests[j]
	if !ok {
		if fl.guests == nil {
			fl.guests = map[int]guests{}
		}
		known = guestsOf(s.crewOn(fl, j))
		fl.guests[j] = known
	}
	return known
}

// noCrowdier reports whether a node of shape j has no more daemons' pods that others are spread from than one of shape i.
func (s *shelf) noCrowdier(fl *flavour, j, i int) bool {
	for _, x := range s.guestsIn(fl, j) {
		if present, _ := s.guestsIn(fl, i).of(x.group); x.present > present {
			return false
		}
	}
	return true
}
