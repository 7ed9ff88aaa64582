package pack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A sealed group is spread over nodes, and limits leave none that counts to be opened: it is spread over those that are there or
// planned, of which none need be empty.
type sealed struct {
	group int
	least int32 // how many pods of the group each node that counts holds at least
	nodes int   // that count for certain
}

// seal finds the sealed groups by which pods must be spread that have no place. What is sealed stays so.
func (r *repairer) seal() {
	clear(r.fresh)
	seen := map[int]bool{}
	for _, c := range r.classes {
		if !c.refusal.OK() || c.left() == 0 {
			continue
		}
		for i := range c.stages {
			for _, rule := range c.stages[i].host {
				g := r.groups[rule.group]
				if rule.kind != topology.Spread || g.there || g.sealed != nil || seen[rule.group] {
					continue
				}
				seen[rule.group] = true
				if !r.claimed(g) && !r.someFresh(g) {
					g.sealed = &sealed{group: rule.group}
					r.seals = append(r.seals, g.sealed)
				}
			}
		}
	}
	r.level()
}

// level counts anew how many pods each node holds at least.
func (r *repairer) level() {
	for _, s := range r.seals {
		g := r.groups[s.group]
		s.least, s.nodes = r.leastIdle(s.group), 0
		for _, t := range r.targets {
			if g.counts[t.index] {
				s.least, s.nodes = min(s.least, g.sure[t.index]), s.nodes+1
			}
		}
		for _, o := range r.nodes {
			how := r.countsOn(g, o)
			if how != countsNot {
				s.least = min(s.least, r.surely(s.group, o))
			}
			if how == counts {
				s.nodes++
			}
		}
	}
}

// lowest returns how many pods the emptiest node holds besides those that are in the skew of rules already.
func (g *group) lowest(minDomains int) int {
	switch s := g.sealed; {
	case s == nil || s.least == math.MaxInt32 || s.nodes < minDomains:
		return 0
	case minDomains > 1:
		return int(s.least)
	default:
		return int(s.least) - g.base
	}
}

// someFresh reports whether some class could still have a new node that counts for the group.
func (r *repairer) someFresh(g *group) bool {
	in, terms := require.Set{}, []require.Set{{}}
	for _, key := range g.with {
		in = in.With(require.New(r.keys[key].label, require.Exists))
	}
	if g.strict != nil {
		terms = g.strict.terms
	}
	return slices.ContainsFunc(r.shelves, func(s *shelf) bool {
		if g.tolerance != nil {
			if _, refused := g.tolerance.refuses(hard(s.pool.Taints)); refused {
				return false
			}
		}
		return slices.ContainsFunc(terms, func(term require.Set) bool {
			reqs := term.And(in)
			id := freshKey{s.index, reqs.String()}
			known, ok := r.fresh[id]
			if !ok {
				known = slices.ContainsFunc(r.classes, func(c *class) bool { return c.refusal.OK() && r.opensWith(c, s, reqs) })
				r.fresh[id] = known
			}
			return known
		})
	})
}

// A freshKey is what it depends on whether some class could have a new node.
type freshKey struct {
	shelf int
	reqs  string
}

// opensWith reports whether a pod of c that has given up its preferences could have a node of its own from the shelf that may have
// such labels.
func (r *repairer) opensWith(c *class, s *shelf, reqs require.Set) bool {
	last := c.last()
	on := r.fitOf(last.labels, last.tolerance, c, reqs, last.wary).on[s.index]
	if on.flavour == nil {
		return false
	}
	_, ok := r.launches(s, on, c.need)
	return ok
}

// countsOn returns whether an opened node counts for the group.
func (r *repairer) countsOn(g *group, o *opened) int {
	if r.lacks(o, g) {
		return countsNot
	}
	how := r.countingOn(g, o.shelf, shelfFit{flavour: o.flavour, holds: o.maybe()})
	if how == counts && len(g.with) > 0 {
		return mayCount // it may lack a label
	}
	return how
}

// surely returns how many pods of the group an opened node certainly has.
func (r *repairer) surely(group int, o *opened) int32 {
	n := 0
	for _, part := range o.share {
		n += part.n * part.lot.each(group)
	}
	if len(r.hands) > 0 {
		for _, m := range r.crewUnder(o) {
			if m.certain && slices.Contains(m.hand.members, group) {
				n++
			}
		}
	}
	return int32(n)
}

// bound returns the rules with the skew that sealed groups leave.
func (r *repairer) bound(rules []rule) (out []rule, changed bool) {
	out = rules
	for i := range rules {
		g := r.groups[rules[i].group]
		if rules[i].kind != topology.Spread || g.lowest(rules[i].minDomains) == 0 {
			continue
		}
		if !changed {
			out, changed = slices.Clone(rules), true
		}
		out[i].skew += g.lowest(rules[i].minDomains)
	}
	return out, changed
}

// breaks reports whether the node would count for a sealed group: it would be an empty one.
func (r *repairer) breaks(o *opened) bool {
	return slices.ContainsFunc(r.seals, func(s *sealed) bool { return r.countsOn(r.groups[s.group], o) != countsNot })
}
