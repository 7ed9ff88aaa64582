package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/topology"
)

// harmless reports whether everybody who has a place may keep it if the node is opened for the next pod of the lot: pods of daemons come
// with it, and others may be spread over domains with them, or be kept out of them.
func (r *repairer) harmless(o *opened, l *lot) bool {
	if !r.meddles(o) {
		return true
	}
	c, order, lots, nodes := l.class, r.order, r.lots, r.nodes
	l.pods = c.pods[c.next : c.next+1]
	r.lots, r.nodes = append(lots, l), append(nodes, o)
	r.order = append(slices.Clone(order), step{pod: l.pods[0], free: c.free})
	_, wrong := r.lookBack()
	l.pods, r.lots, r.nodes, r.order = nil, lots, nodes, order
	return len(wrong) == 0
}

// meddles reports whether daemons of an opened node count for others in domains that nodes share.
func (r *repairer) meddles(o *opened) bool {
	if len(r.hands) == 0 {
		return false
	}
	wide := func(i int) bool { return r.groups[i].key != hostKey && r.groups[i].kind != topology.Near }
	return slices.ContainsFunc(r.crewUnder(o), func(m crewman) bool {
		return slices.ContainsFunc(m.hand.members, wide) || slices.ContainsFunc(m.hand.bans, wide)
	})
}
