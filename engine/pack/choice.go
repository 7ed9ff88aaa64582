package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/topology"
)

// A choice is one domain of each label that matters to a class, one of the class's affinity terms that is preferred to the
// others, and the fit of the class there.
type choice struct {
	keys    []int
	domains []int
	turn    int // which of the turns of labels
	labels  *alternatives
	fit     *fit
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
	ports, keys, open       string
}

// choices returns the combinations of domains in which new nodes for the class are possible, in the order of their names.
func (p *problem) choices(c *class, s *stage) []*choice { return p.choicesBy(c, s, nil) }

// choicesBy is choices with the domains of further labels settled too.
func (p *problem) choicesBy(c *class, s *stage, more []int) []*choice {
	keys := slices.Concat(p.keysFor(c, s), more)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return p.combinations(c, s, keys, nil)
}

// looseChoices returns further choices, for a class that finds no place otherwise: those that leave open what matters only to
// others.
func (p *problem) looseChoices(c *class, s *stage) []*choice {
	keys := p.keysFor(c, s)
	open := p.openable(c, s, keys)
	if len(open) == 0 {
		return nil
	}
	settled := slices.DeleteFunc(keys, func(key int) bool { return slices.Contains(open, key) })
	return p.combinations(c, s, settled, open)
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

// combinations returns the choices over the domains of keys, with those of the labels in open left open.
func (p *problem) combinations(c *class, s *stage, keys, open []int) []*choice {
	k := choiceKey{labels: s.labels.id, tolerance: s.tolerance.id, need: c.need.id,
		ports: string(putPorts(nil, c.ports)), keys: string(putKeys(keys)), open: string(putKeys(open))}
	if out, ok := p.chosen[k]; ok {
		return out
	}
	var out []*choice
	p.combine(keys, nil, func(domains []int) {
		extra := p.inDomains(keys, domains)
		from := len(out)
		for turn, labels := range p.turnsOf(s.labels) {
			f := p.fitOf(labels, s.tolerance, c, extra)
			if len(out) >= maxChoices || !p.late && !p.launchable(f, c.need) || !f.ok ||
				slices.ContainsFunc(out[from:], func(o *choice) bool { return o.fit.like(f) }) {
				continue
			}
			ch := &choice{keys: slices.Concat(keys, open), domains: slices.Clone(domains), turn: turn, labels: labels, fit: f}
			for range open {
				ch.domains = append(ch.domains, unsettled)
			}
			out = append(out, ch)
		}
	})
	p.chosen[k] = out
	return out
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
