package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A choice is one domain of each label that matters to a class, one of the class's affinity terms that is preferred to the
// others, and the fit of the class there.
type choice struct {
	keys    []int
	domains []int
	among   [][]int // of each key that is left open among some domains, those; nil if none is
	turn    int     // which of the turns of labels
	labels  *alternatives
	fit     *fit
	// escorted says that the nodes have daemons of which all company is that the pods want; sole that they may be missing where there
	// are others of theirs.
	escorted, sole bool
}

// maxChoices bounds the combinations of domains that are looked at for one class, maxTurns the terms of its affinity that are
// preferred in turn.
const (
	maxChoices = 256
	maxTurns   = 8
)

// A choiceKey is what the choices of a class depend on.
type choiceKey struct {
	labels, tolerance, need int
	pinned, bears, wary     int // labels and tolerance that are tried first, and what is asked of daemons
	ports, keys, open       string
}

// choices returns the combinations of domains in which new nodes for the class are possible, in the order of their names.
func (p *problem) choices(c *class, s *stage) []*choice { return p.choicesBy(c, s, nil) }

// choicesBy is choices with the domains of further labels settled too.
func (p *problem) choicesBy(c *class, s *stage, more []int) []*choice {
	keys := p.keysFor(c, s)
	if len(more) > 0 {
		keys = merged(keys, more)
	}
	return p.combinations(c, s, keys, nil, s.wary)
}

// escorted returns the choices of nodes with daemons of which all company is that pods of c want.
func (p *problem) escorted(c *class, s *stage) []*choice {
	return p.combinations(c, s, p.keysFor(c, s), nil, s.escort)
}

// safelyEscorted is escorted with the domains settled that others may keep such daemons out of.
func (p *problem) safelyEscorted(c *class, s *stage) []*choice {
	if len(p.doubted) == 0 {
		return nil
	}
	return p.combinations(c, s, merged(p.keysFor(c, s), p.doubted), nil, s.escort)
}

// merged returns the keys of both lists, each once and in order.
func merged(a, b []int) []int {
	keys := slices.Concat(a, b)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// looseChoices returns further choices, for a class that finds no place otherwise: those that leave open what matters only to
// others.
func (p *problem) looseChoices(c *class, s *stage) []*choice {
	keys := p.keysFor(c, s)
	open := p.openable(c, s, keys)
	if len(open) == 0 {
		return nil
	}
	settled := slices.DeleteFunc(slices.Clone(keys), func(key int) bool { return slices.Contains(open, key) })
	return p.combinations(c, s, settled, open, s.wary)
}

// openable returns the labels among keys whose domains matter only to others, who want to be near pods of the class or apart
// from them.
func (p *problem) openable(c *class, s *stage, keys []int) []int {
	var pinned []int
	pin := func(m int) { pinned = append(append(pinned, p.groups[m].key), p.groups[m].with...) }
	for i := range s.wide {
		pin(s.wide[i].group)
	}
	for _, m := range c.members {
		if p.groups[m].kind == topology.Spread {
			pin(m)
		}
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key int) bool { return slices.Contains(pinned, key) })
}

// combinations returns the choices over the domains of keys, with those of the labels in open left open, of nodes with daemons
// as w has them.
func (p *problem) combinations(c *class, s *stage, keys, open []int, w *wariness) []*choice {
	labels, tolerance := p.pinned(c, s)
	k := choiceKey{labels: s.labels.id, tolerance: s.tolerance.id, pinned: labels.id, bears: tolerance.id, wary: w.number(), need: c.need.id}
	if len(keys) > 0 && len(open) == 0 && len(keys) == len(s.keys) && &keys[0] == &s.keys[0] {
		k.keys = s.text
	} else {
		k.keys, k.open = string(putKeys(keys)), string(putKeys(open))
	}
	if len(c.ports) > 0 {
		k.ports = string(putPorts(nil, c.ports))
	}
	if out, ok := p.chosen[k]; ok {
		return out
	}
	var out []*choice
	p.combine(keys, nil, func(domains []int) {
		ch := choice{keys: slices.Concat(keys, open), domains: slices.Clone(domains), escorted: w != nil && len(w.want) > 0, sole: w != nil && w.sole}
		for range open {
			ch.domains = append(ch.domains, unsettled)
		}
		from := len(out)
		if labels != s.labels || tolerance != s.tolerance {
			out = p.take(out, c, ch, asked{labels, tolerance, w})
		}
		if len(out) == from {
			out = p.take(out, c, ch, asked{s.labels, s.tolerance, w})
		}
		if len(out) == from && ch.escorted {
			out = p.take(out, c, ch, asked{p.selecting(s.labels, w.want), s.tolerance, w})
		}
	})
	p.chosen[k] = out
	return out
}

// asked is what pods ask of new nodes.
type asked struct {
	labels    *alternatives
	tolerance *tolerance
	wary      *wariness
}

// take appends what becomes of the choice with each term of labels preferred in its turn, as far as that makes a difference.
func (p *problem) take(out []*choice, c *class, ch choice, of asked) []*choice {
	from := len(out)
	extra := ch.extra(p)
	for turn, labels := range p.turnsOf(of.labels) {
		f := p.fitOf(labels, of.tolerance, c, extra, of.wary)
		if len(out) >= maxChoices || !f.ok || !p.late && !p.launchable(f, c.need) ||
			slices.ContainsFunc(out[from:], func(o *choice) bool { return o.fit.like(f) }) {
			continue
		}
		next := ch
		next.turn, next.labels, next.fit = turn, labels, f
		out = append(out, &next)
	}
	return out
}

// pinned returns what a pod of c asks of nodes if each that it gets counts for those of other classes who must be spread from
// it: on nodes of which only some count, nobody could tell how many of them there are in a domain.
func (p *problem) pinned(c *class, s *stage) (*alternatives, *tolerance) {
	labels, tolerance := s.labels, s.tolerance
	for _, m := range c.members {
		g := p.groups[m]
		if g.kind != topology.Spread || !g.hard || g.key == hostKey {
			continue
		}
		if g.strict != nil && g.strict != c.strict {
			labels = p.narrowed(labels, g.strict)
		}
		if g.tolerance != nil && g.tolerance != tolerance {
			tolerance = p.both(tolerance, p.toleranceOf(g.tolerance.list, true))
		}
	}
	return labels, tolerance
}

// selecting returns a within what daemons select that the groups count.
func (p *problem) selecting(a *alternatives, groups []int) *alternatives {
	for _, g := range groups {
		var terms []require.Set
		for _, h := range p.hands {
			if slices.Contains(h.members, g) {
				terms = append(terms, h.selects...)
			}
		}
		a = p.narrowed(a, p.alternativesOf(terms))
	}
	return a
}

// narrowed returns a within b; a if nothing is left then.
func (p *problem) narrowed(a, b *alternatives) *alternatives {
	var terms []require.Set
	for _, x := range a.terms {
		if slices.ContainsFunc(b.terms, func(y require.Set) bool { return implies(x, y) }) {
			terms = append(terms, x)
			continue
		}
		for _, y := range b.terms {
			if _, ok := x.Intersects(y); ok && len(terms) < maxAlternatives {
				terms = append(terms, x.And(y))
			}
		}
	}
	if len(terms) == 0 {
		return a
	}
	return p.alternativesOf(terms)
}

// implies reports whether all nodes with the labels of x meet y.
func implies(x, y require.Set) bool {
	for want := range y.All() {
		have, ok := x.Get(want.Key())
		if !ok || have.MayBeAbsent() && !want.MayBeAbsent() || !have.Empty() && !have.Intersect(want).Equal(have) {
			return false
		}
	}
	return true
}

// A certainKey is what certain depends on.
type certainKey struct{ fit, strict, tolerance int }

// How pods on new nodes count for a group: it depends on what the nodes turn out to be, they certainly do, or do not.
const (
	mayCount = iota
	counts
	countsNot
)

// counting returns how pods count for the group that are on nodes which they may get by the fit. What a pool launches no node of
// is no matter; as limits only shrink, that stays so.
func (p *problem) counting(g *group, f *fit) int {
	if g.strict == nil && g.tolerance == nil {
		return counts
	}
	k := certainKey{fit: f.id}
	if g.strict != nil {
		k.strict = 1 + g.strict.id
	}
	if g.tolerance != nil {
		k.tolerance = 1 + g.tolerance.id
	}
	if known, ok := p.certainty[k]; ok {
		return known
	}
	answer := -1
	for i, s := range p.shelves {
		if f.on[i].flavour == nil {
			continue
		}
		if _, launched := p.launches(s, f.on[i], f.need); !launched && !p.late { // late comers may share a node that is planned
			continue
		}
		if here := p.countingOn(g, s, f.on[i]); answer < 0 {
			answer = here
		} else if answer != here {
			answer = mayCount
		}
	}
	p.certainty[k] = max(answer, mayCount)
	return p.certainty[k]
}

func (p *problem) countingOn(g *group, s *shelf, on shelfFit) int {
	if g.tolerance != nil {
		if _, refused := g.tolerance.refuses(hard(s.pool.Taints)); refused {
			return countsNot
		}
	}
	if g.strict == nil {
		return counts
	}
	all, none := true, true
	judge := func(reqs require.Set) {
		met, may := false, false
		for _, term := range g.strict.terms {
			term = term.Normalize(p.opts.Labels.Aliases)
			met = met || implies(reqs, term)
			if !may {
				_, may = reqs.Compatible(term, p.opts.wellKnown)
			}
		}
		all, none = all && met, none && !may
	}
	if judge(on.flavour.reqs); !all {
		all, none = true, true
		on.holds.each(func(j int) { judge(s.pool.shapes[j].reqs.And(on.flavour.reqs)) })
	}
	switch {
	case all:
		return counts
	case none:
		return countsNot
	}
	return mayCount
}

// turnsOf returns the alternatives with each of them first in its turn.
func (p *problem) turnsOf(a *alternatives) []*alternatives {
	if a.turns == nil {
		a.turns = []*alternatives{a}
		for i := 1; i < min(len(a.terms), maxTurns); i++ {
			a.turns = append(a.turns, p.alternativesOf(slices.Concat(a.terms[i:], a.terms[:i])))
		}
	}
	return a.turns
}

// like reports whether pods go onto the same shelves in the same flavours.
func (f *fit) like(o *fit) bool {
	return slices.EqualFunc(f.on, o.on, func(a, b shelfFit) bool { return a.flavour == b.flavour })
}
