package verify

import (
	"fmt"
	"math"
)

// A constraint is a spread that binds pods that come, over the nodes that count for them.
type constraint struct {
	spread
	kind    *kind  // the first that it binds
	reach   []bool // by site, whether it counts
	balance balance
}

// spreads checks topology spread: where pods come, no domain may hold more than maxSkew
// pods above the emptiest domain that they could go to. If that holds in the end, pods
// that arrive where there are fewest meet it all the way. Pods of the kind that come
// without the constraint may come later, and so do not count against their own domain.
func (c *checker) spreads(cr *crowd) {
	before := len(c.found)
	for _, st := range cr.sites {
		for _, g := range st.groups {
			if len(g.come) == 0 {
				continue
			}
			for _, con := range c.constraintsOf(cr, g.kind) {
				values := st.domain(con.key)
				if _, known := st.surely(con.key); !known {
					for _, p := range g.come {
						c.add(unsure(RuleSpread, st, p, con.key, values))
					}
					continue
				}
				for _, v := range values { // wherever the node will be
					c.level(g, con, v)
				}
			}
		}
	}
	if len(c.found) == before {
		c.arrivals(cr)
	}
}

// constraintsOf returns the constraints that bind pods of the kind that come.
func (c *checker) constraintsOf(cr *crowd, k *kind) []*constraint {
	if len(k.constraints) == len(k.manner.spreads) {
		return k.constraints
	}
	for _, s := range k.manner.spreads {
		where := s.where(k)
		id := fmt.Sprintf("%s %d %d %s", s.text, s.maxSkew, s.minDomains, where)
		con, ok := cr.constraints[id]
		if !ok {
			if cr.reach[where] == nil {
				cr.reach[where] = c.reach(cr, s, k)
			}
			con = &constraint{spread: s, kind: k, reach: cr.reach[where]}
			con.balance = c.balance(cr, con)
			cr.constraints[id] = con
		}
		k.constraints = append(k.constraints, con)
	}
	return k.constraints
}

// level checks that where the pods of g come there are not too many of their kind.
func (c *checker) level(g *group, con *constraint, value string) {
	b := &con.balance
	n, least := b.counts[value], b.least
	if value == b.emptiest {
		least = min(n, b.next)
	}
	if n-least <= con.maxSkew {
		return
	}
	for _, p := range g.come {
		c.add(Violation{Rule: RuleSpread, Node: g.site.name, Pod: nameOfPod(p), Detail: fmt.Sprintf(
			"%s %q holds %d pods of the kind, the emptiest domain %d: more than %d apart",
			con.key, value, n, least, con.maxSkew)})
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

// balance counts the pods of a constraint over the nodes that count for it, by site. Those on a node whose domain is open
// count in each that it may become, but make none the less empty.
func (c *checker) balance(cr *crowd, con *constraint) balance {
	b := balance{counts: make(census)}
	at := cr.settled(con.key)
	final := make([]int, len(cr.sites)) // by the first site of the domain; negative if there is none
	for i := range final {
		final[i] = -1
	}
	domains := 0
	for _, st := range cr.sites {
		if d := at[st.index]; con.reach[st.index] && final[d] < 0 {
			final[d] = 0 // a domain without pods is one too
			domains++
		}
	}
	for _, other := range cr.matching(con.term) {
		binds := other.manner.binds(con.spread)
		for _, g := range other.groups {
			open, counts := c.counted(con, g.site)
			if !open && !counts {
				continue
			}
			for _, d := range g.site.domain(con.key) {
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
			b.next, b.least, b.emptiest = b.least, n, cr.sites[i].domain(con.key)[0]
		default:
			b.next = min(b.next, n)
		}
	}
	if domains < con.minDomains {
		b.least, b.next = 0, 0
	}
	return b
}

// counted reports whether pods on the site count for the constraint: where its domain is open, or for certain.
func (c *checker) counted(con *constraint, st *site) (open, surely bool) {
	if con.reach[st.index] {
		return false, true
	}
	return len(st.domain(con.key)) > 1 && c.counts(st, con.spread, con.kind), false
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
