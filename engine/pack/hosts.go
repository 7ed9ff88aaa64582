package pack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// closeHosts finds the groups that are spread over nodes of which no new one counts, whatever is launched: they are spread over
// the nodes that are there, and none of those need be empty.
func (p *problem) closeHosts() {
	for i, g := range p.groups {
		if g.key == hostKey && g.kind == topology.Spread && !p.claimed(g) && !p.maybeFresh(g) {
			g.there, g.idle = true, p.leastIdle(i)
		}
	}
}

// claimed reports whether some claim is not launched that may count for the group: what will come of it is not known, but for the
// labels that it will not have.
func (p *problem) claimed(g *group) bool {
	return slices.ContainsFunc(p.targets, func(t *target) bool { return t.open && !g.lacks(t) })
}

// maybeFresh reports whether some pool has a type whose nodes count for the group.
func (p *problem) maybeFresh(g *group) bool {
	in, terms := require.Set{}, []require.Set{{}}
	for _, key := range g.with {
		in = in.With(require.New(p.keys[key].label, require.Exists))
	}
	if g.strict != nil {
		terms = g.strict.terms
	}
	return slices.ContainsFunc(p.shelves, func(s *shelf) bool {
		return g.bears(s.pool.Taints) && slices.ContainsFunc(terms, func(term requirements) bool {
			f := s.flavourFor(term.And(in), p.opts)
			return f != nil && f.some
		})
	})
}

// leastIdle returns how many pods of the group the emptiest node holds that counts and takes no more pods.
func (p *problem) leastIdle(group int) int32 {
	least := int32(math.MaxInt32)
	var terms []int
	for _, t := range p.everywhere {
		if t.index >= 0 || t.node.Deleting || !p.eligible(p.groups[group], t) {
			continue
		}
		n := int32(0)
		for _, pod := range t.node.Pods {
			if p.moving[pod.Key] || pod.Terminating() {
				continue
			}
			terms = p.book.Selecting(terms[:0], pod.Object.Namespace, pod.Object.Labels)
			if slices.ContainsFunc(terms, func(t int) bool { return slices.Contains(p.byTerm[t], group) }) {
				n++
			}
		}
		least = min(least, n)
	}
	return least
}
