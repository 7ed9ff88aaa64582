package verify

import (
	"fmt"
	"math"
)

// spreads checks topology spread: where pods come, no domain may hold more than maxSkew
// pods above the emptiest domain that they could go to. If that holds in the end, pods
// that arrive where there are fewest meet it all the way. Pods of the kind that come
// without the constraint may come later, and so do not count against their own domain.
func (c *checker) spreads(cr *crowd) {
	known := make(map[string]balance)
	reach := make(map[string][]bool)
	for _, st := range cr.sites {
		for _, g := range st.groups {
			if len(g.come) == 0 {
				continue
			}
			for _, s := range g.kind.manner.spreads {
				values := st.domain(s.key)
				if _, known := st.surely(s.key); !known {
					for _, p := range g.come {
						c.add(unsure(RuleSpread, st, p, s.key, values))
					}
					continue
				}
				where := s.where(g.kind)
				id := fmt.Sprintf("%s %d %d %s", s.text, s.maxSkew, s.minDomains, where)
				b, ok := known[id]
				if !ok {
					if reach[where] == nil {
						reach[where] = c.reach(cr, s, g.kind)
					}
					b = c.balance(cr, s, g.kind, reach[where])
					known[id] = b
				}
				for _, v := range values { // wherever the node will be
					c.level(g, s, b, v)
				}
			}
		}
	}
}

// level checks that where the pods of g come there are not too many of their kind.
func (c *checker) level(g *group, s spread, b balance, value string) {
	n, least := b.counts[value], b.least
	if value == b.emptiest {
		least = min(n, b.next)
	}
	if n-least <= s.maxSkew {
		return
	}
	for _, p := range g.come {
		c.add(Violation{Rule: RuleSpread, Node: g.site.name, Pod: nameOfPod(p), Detail: fmt.Sprintf(
			"%s %q holds %d pods of the kind, the emptiest domain %d: more than %d apart",
			s.key, value, n, least, s.maxSkew)})
	}
}

// A balance is how many pods of a kind each domain holds.
type balance struct {
	counts census
	least  int // in the emptiest domain that counts
	// emptiest is that domain, and next how many the emptiest of the others holds: a pod that comes
	// to a domain finds there what is there, however many of its daemons have come.
	emptiest string
	next     int
}

// balance counts the pods of a constraint of kind k over the nodes that count for it, by site. Those on a node whose domain is open
// count in each that it may become, but make none the less empty.
func (c *checker) balance(cr *crowd, s spread, k *kind, reach []bool) balance {
	b := balance{counts: make(census)}
	at := cr.settled(s.key)
	final := make([]int, len(cr.sites)) // by the first site of the domain; negative if there is none
	for i := range final {
		final[i] = -1
	}
	domains := 0
	for _, st := range cr.sites {
		if d := at[st.index]; reach[st.index] && final[d] < 0 {
			final[d] = 0 // a domain without pods is one too
			domains++
		}
	}
	for _, other := range cr.matching(s.term) {
		binds := other.manner.binds(s)
		for _, g := range other.groups {
			open := len(g.site.domain(s.key)) > 1 && c.counts(g.site, s, k)
			if !open && !reach[g.site.index] {
				continue
			}
			for _, d := range g.site.domain(s.key) {
				b.counts[d] += g.lasting + len(g.maybe)
				if binds {
					b.counts[d] += len(g.come)
				}
			}
			if !open {
				final[at[g.site.index]] += g.lasting + len(g.come)
			}
		}
	}
	b.least, b.next = math.MaxInt, math.MaxInt
	for i, n := range final {
		switch {
		case n < 0:
		case n < b.least:
			b.next, b.least, b.emptiest = b.least, n, cr.sites[i].domain(s.key)[0]
		default:
			b.next = min(b.next, n)
		}
	}
	if domains < s.minDomains {
		b.least, b.next = 0, 0
	}
	return b
}

// where names the nodes that count for s when a pod of kind k has it.
func (s spread) where(k *kind) string {
	id := s.key
	for _, other := range k.manner.spreads {
		id += " " + other.key
	}
	if s.honorAffinity {
		id += fmt.Sprintf(" %p", k.demand.selector)
	}
	if s.honorTaints {
		id += " " + k.demand.tolerated()
	}
	return id
}

// reach returns which sites count for a constraint of kind k: those that have the labels
// of all of the pod's constraints, and to which the pod could go as far as the
// constraint cares. A site whose domain is open does not count.
func (c *checker) reach(cr *crowd, s spread, k *kind) []bool {
	out := make([]bool, len(cr.sites))
	for i, st := range cr.sites {
		out[i] = len(st.domain(s.key)) == 1 && c.counts(st, s, k)
	}
	return out
}

func (c *checker) counts(st *site, s spread, k *kind) bool {
	for _, other := range k.manner.spreads {
		if len(st.domain(other.key)) == 0 {
			return false
		}
	}
	if s.honorAffinity && !st.takes(k.demand.selector) {
		return false
	}
	if s.honorTaints {
		if _, kept := k.demand.untolerated(st.taints); kept {
			return false
		}
	}
	return true
}
