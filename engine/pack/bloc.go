package pack

import "slices"

// A bloc is pods of daemons that are all there or none of them, and that nobody can rely on.
type bloc struct {
	pods int
	in   map[int]bool // the domains where some of them are
}

// A blocKey tells blocs apart. A daemon that nothing but its own anti-affinity may keep off nodes is on all nodes that it selects
// in a domain of that, or on none: somebody is there with whom it cannot be, or its first pod keeps them all away. Other pods
// are blocs of one.
type blocKey struct {
	hand    *hand // nil for a bloc of one
	domains string
	number  int // of a bloc of one, from 1
}

// binding returns the labels of the domains in which a daemon that only its own anti-affinity may keep off nodes is everywhere or
// nowhere; nil if it may be on some nodes of a domain. terms are those that select its pods.
func (p *problem) binding(h *hand, terms []int) []int {
	if meet(h.terms, terms) {
		return nil
	}
	var keys []int
	for _, t := range h.terms {
		key := p.keyOf(p.book.Term(t).Key)
		if key == hostKey {
			return nil
		}
		keys = append(keys, key)
	}
	return keys
}

// blocOf returns the bloc of a daemon's pod on a node in those domains.
func (p *problem) blocOf(m crewman, domain func(key int) int) blocKey {
	if !m.steady || len(m.hand.bound) == 0 {
		return blocKey{}
	}
	var domains []byte
	for _, key := range m.hand.bound {
		d := domain(key)
		if d < 0 {
			return blocKey{}
		}
		domains = putInt(domains, int64(d))
	}
	return blocKey{hand: m.hand, domains: string(domains)}
}

// blocAt is blocOf for a node that is there. One that takes no pods may have no room for the daemon's.
func (p *problem) blocAt(m crewman, t *target) blocKey {
	if t.index < 0 {
		return blocKey{}
	}
	return p.blocOf(m, t.domain)
}

// blocUnder is blocOf for an opened node.
func (p *problem) blocUnder(m crewman, o *opened) blocKey {
	return p.blocOf(m, func(key int) int {
		if d := p.domainsUnder(o, key); len(d) == 1 {
			return d[0]
		}
		return nowhere
	})
}

// doubt counts a pod of a daemon of the bloc that may be in domain d, or nowhere. The domain of one on an opened node is nowhere, in
// a group over nodes.
func (g *group) doubt(id blocKey, d int) {
	if id.hand == nil {
		id.number = g.doubts + 1
	}
	b := g.blocs[id]
	if b == nil {
		b = &bloc{in: map[int]bool{}}
		if g.blocs == nil {
			g.blocs = map[blocKey]*bloc{}
		}
		g.blocs[id] = b
	}
	b.pods++
	if d >= 0 {
		b.in[d] = true
	}
	g.doubts++
}

// maybe returns how many pods of daemons are there only if one of them is in domain d.
func (g *group) maybe(d int) int {
	n := 0
	for _, b := range g.blocs {
		if b.in[d] {
			n += b.pods
		}
	}
	return n
}

// maybeOn returns how many pods of daemons are there only if one of them is on the opened node.
func (p *problem) maybeOn(o *opened, group int) int {
	n := 0
	var seen []blocKey
	for _, m := range p.crewUnder(o) {
		if !slices.Contains(m.hand.members, group) {
			continue
		}
		id := p.blocUnder(m, o)
		if b := p.groups[group].blocs[id]; b == nil {
			n++
		} else if !slices.Contains(seen, id) {
			n, seen = n+b.pods, append(seen, id)
		}
	}
	return n
}
