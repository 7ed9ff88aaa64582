package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// maxRepairSteps is the largest number of times that join tries to add a pod to a planned node.
const maxRepairSteps = 2_000

// A repairer places pods that a draft refuses, one at a time: on existing, planned or new nodes. It runs after packing,
// when it is known what limits and reservations still allow.
type repairer struct {
	draft    *draft
	assigned *assign.Assignment
	packed   *packing
	counts   []perNodeCounts // counts[i] are the group counts of packed.nodes[i]
	steps    int             // how many more times join may try a planned node
}

// repair returns a plan that places more pods than the draft, or the draft's plan if it finds none. The draft must be
// consistent (isConsistent).
func repair(d *draft) *model.Plan {
	if len(d.refused) > 0 || len(d.plan.Refusals) == 0 {
		return d.plan
	}
	limits := d.packed.limits.Clone()
	r := &repairer{
		draft: d, assigned: d.assigned.Resume(limits), steps: maxRepairSteps,
		packed: &packing{nodes: slices.Clone(d.packed.nodes), limits: limits, served: slices.Clone(d.packed.served)},
	}
	r.reclaim()
	for _, n := range r.packed.nodes {
		r.counts = append(r.counts, perNodeCountsOf(n))
	}
	placed := false
	for moved := true; moved && r.steps > 0; placed = placed || moved {
		moved = false
		for _, c := range d.problem.Classes {
			for r.assigned.Placed.Left(c) > 0 && r.steps > 0 && r.placeNext(c) {
				moved = true
			}
		}
	}
	if placed {
		r.packed.floor = func(nodes []*node) float64 {
			return bound(binpack.NewRelaxation(problemOf(d.problem, d.options, d.problem.Catalog.Pools, itemsOf(r.assigned), limits)), nodes, len(r.assigned.Segments), nil)
		}
		better := draftPlan(d.problem, d.options, r.assigned, r.packed)
		if len(better.refused) == 0 && unplaced(better.plan) < unplaced(d.plan) {
			return better.plan
		}
	}
	return d.plan
}

// reclaim removes the pods without a node from their segments. They become waiting pods of their classes again.
func (r *repairer) reclaim() {
	for i, s := range r.assigned.Segments {
		rest := s.Pods[r.packed.served[i]:]
		if len(rest) == 0 || s.Size > 1 {
			continue
		}
		short := *s
		short.Pods = s.Pods[:r.packed.served[i]:r.packed.served[i]]
		r.replaceSegment(i, &short)
		r.assigned.Placed.Return(s.Class, rest)
	}
}

// replaceSegment replaces the i-th segment by s in the assignment and in all nodes.
func (r *repairer) replaceSegment(i int, s *assign.Segment) {
	was := r.assigned.Segments[i]
	r.assigned.Segments[i] = s
	renewed := map[*node]*node{}
	for k, n := range r.packed.nodes {
		if !slices.ContainsFunc(n.parts, func(x part) bool { return x.segment == was }) {
			continue
		}
		if renewed[n] == nil {
			fresh := *n
			fresh.parts = slices.Clone(n.parts)
			for j := range fresh.parts {
				if fresh.parts[j].segment == was {
					fresh.parts[j].segment = s
				}
			}
			renewed[n] = &fresh
		}
		r.packed.nodes[k] = renewed[n]
	}
}

// placeNext places the next pod of the class, and returns false if no node can take it. It tries, in this order:
// existing nodes, planned nodes without a rise of their price, a new node, planned nodes at any price. Several pods may
// go to existing nodes at once.
func (r *repairer) placeNext(c *compile.Class) bool {
	before := r.assigned.Placed.Left(c)
	for i := range c.Stages {
		s := &c.Stages[i]
		r.assigned.SetPlacing(c)
		if r.assigned.Placed.FirstFit(c, s); r.assigned.Placed.Left(c) < before {
			return true
		}
		choices := slices.Concat(r.assigned.DaemonAffinityChoices(c, s), r.assigned.Choices(c, s), r.assigned.LooseChoices(c, s))
		choices = slices.DeleteFunc(choices, func(ch *assign.Choice) bool {
			n, _ := r.assigned.Allows(c, s, ch)
			return n == 0
		})
		if r.join(c, s, choices, false) || r.openNode(c, s, choices) || r.join(c, s, choices, true) {
			return true
		}
	}
	return false
}

// join adds the next pod of the class to a planned node, and returns false if no node takes it. If mayCostMore is
// false, the node's price must not rise.
func (r *repairer) join(c *compile.Class, s *compile.Stage, choices []*assign.Choice, mayCostMore bool) bool {
	for _, ch := range choices {
		segment := r.assigned.NewSegment(c, s, ch)
		for i, n := range r.packed.nodes {
			if r.steps--; r.steps < 0 {
				return false
			}
			with := r.withPod(n, r.counts[i], segment)
			if with == nil || !mayCostMore && with.price > n.price*(1+catalog.Same) {
				continue
			}
			r.packed.limits.Take(n.pool, n.charge, n.instance().Reservation, -1)
			r.packed.limits.Take(with.pool, with.charge, with.instance().Reservation, 1)
			r.commit(segment)
			r.packed.nodes[i], r.counts[i] = with, perNodeCountsOf(with)
			return true
		}
	}
	return false
}

// withPod returns a copy of planned node n with one more pod of the segment, on the cheapest type that holds all pods.
// It returns nil if there is no such type. counts are the group counts of n.
func (r *repairer) withPod(n *node, counts perNodeCounts, s *assign.Segment) *node {
	fit := s.Fit.ByPool[n.pool.Index]
	if fit.Set == nil || !counts.admits(s) || !s.Choice.DaemonAffinity && !counts.meetsAffinity(s, r.assigned) {
		return nil
	}
	offers := n.pool.Meet(n.offers, fit.Set)
	if offers == nil {
		return nil
	}
	own := n.instance().Reservation
	limits := r.packed.limits.Clone()
	limits.Take(n.pool, n.charge, own, -1)
	out := newNode(n.pool, n.typ, offers, append(slices.Clone(n.parts), part{segment: s, copies: 1}))
	if !r.place(out, limits, own) {
		return nil
	}
	return out
}

// place sets the type, price and charge of the node. It chooses the cheapest type that holds the pods, uses the
// reservation from (nil: none), and is within the limits. It returns false if there is none.
func (r *repairer) place(n *node, l *catalog.Limits, from *catalog.Reservation) bool {
	cat := r.draft.problem.Catalog
	if _, ok := cat.Enough(l, n.pool, n.offers, n.amount, n.shared, from); !ok {
		return false
	}
	for _, t := range n.pool.Options(n.offers, n.amount, n.shared, from, n.admits()).Types {
		if count, _ := l.Allow(t); count <= 0 {
			continue
		}
		n.typ = slices.Index(n.pool.Types, t)
		n.price = n.offers.Prices[n.typ]
		n.charge = cat.Charge(l, n.pool, n.offers, n.typ, n.amount, n.shared, n.admits())
		return true
	}
	return false
}

// openNode adds a new node for the next pod of the class, and returns false if no pool can launch one. Of the pools
// that can, it takes one of the highest weight, and of these the cheapest node.
func (r *repairer) openNode(c *compile.Class, s *compile.Stage, choices []*assign.Choice) bool {
	var best *node
	for _, ch := range choices {
		segment := r.assigned.NewSegment(c, s, ch)
		if !ch.DaemonAffinity && !(perNodeCounts{}).meetsAffinity(segment, r.assigned) {
			continue
		}
		for _, pool := range r.draft.problem.Catalog.Pools {
			if best != nil && pool.Weight < best.pool.Weight {
				break
			}
			if n := r.cheapest(pool, segment); n != nil && (best == nil || pool.Weight > best.pool.Weight || n.price < best.price*(1-catalog.Same)) {
				best = n
			}
		}
	}
	if best == nil {
		return false
	}
	r.commit(best.parts[0].segment)
	r.packed.limits.Take(best.pool, best.charge, best.instance().Reservation, 1)
	r.packed.nodes = append(r.packed.nodes, best)
	r.counts = append(r.counts, perNodeCountsOf(best))
	return true
}

// cheapest returns the cheapest node that the pool can still launch for a pod of the segment. It returns nil if there
// is none.
func (r *repairer) cheapest(pool *catalog.Pool, s *assign.Segment) *node {
	on := s.Fit.ByPool[pool.Index]
	if on.Set == nil {
		return nil
	}
	var best *node
	var tried []*catalog.Reservation
	on.Types.Each(func(i int) {
		from := pool.Types[i].Reservation
		if slices.Contains(tried, from) {
			return
		}
		tried = append(tried, from)
		n := newNode(pool, i, on.Set, []part{{segment: s, copies: 1}})
		if r.place(n, r.packed.limits, from) && (best == nil || n.price < best.price) {
			best = n
		}
	})
	return best
}

// commit moves the next pod of the class into segment s, and adds s to the assignment and the packing.
func (r *repairer) commit(s *assign.Segment) {
	r.assigned.Enter(s.Class, s.Stage, s.Choice, 1)
	s.Pods = r.assigned.Placed.Take(s.Class, 1)
	r.assigned.Segments = append(r.assigned.Segments, s)
	r.packed.served = append(r.packed.served, 1)
}
