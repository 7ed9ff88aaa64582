package pack

import (
	"slices"
	"strconv"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A packing is the result of bin packing: the new nodes with the pods on each. A segment (assign.Segment) is pods of
// one class that need new nodes in the same domains.
type packing struct {
	nodes []*node
	// served[i] is the number of pods of segment i that have a node. They are the first of Segment.Pods.
	served []int
	// limits are what remains of pool limits, reservations and commitments after the charges of the nodes.
	limits *catalog.Limits
	// floor returns a lower bound on the price of nodes that hold the pods of the given nodes. It assumes that the given
	// nodes from reservations and under commitments keep their pods, and that only these nodes use reservations and
	// commitments.
	floor func([]*node) float64
}

// packNodes packs the segments into new nodes. The pools of the highest weight are filled first. Pods for which these
// pools or their limits allow no node go to the pools of the next weight. Among pools of one weight only the price decides.
func packNodes(p *compile.Problem, o Options, a *assign.Assignment) *packing {
	out := &packing{served: make([]int, len(a.Segments)), limits: a.Limits.Clone(), floor: func([]*node) float64 { return 0 }}
	if len(a.Segments) == 0 {
		return out
	}
	items := itemsOf(a)
	relaxation := binpack.NewRelaxation(problemOf(p, o, p.Catalog.Pools, items, out.limits))
	whole := knownBound{copies: make([]int, len(items))} // the bound for all copies, which floor usually needs
	for i := range items {
		whole.copies[i] = items[i].Copies
	}
	wait := compile.Aside(func() { whole.bound = relaxation.Bound(whole.copies) })
	for pools := p.Catalog.Pools; len(pools) > 0; {
		n := slices.IndexFunc(pools, func(x *catalog.Pool) bool { return x.Weight != pools[0].Weight })
		if n < 0 {
			n = len(pools)
		}
		left := out.packTier(problemOf(p, o, pools[:n], items, out.limits), o, pools[:n], a)
		if pools = pools[n:]; len(pools) > 0 {
			items = slices.Clone(items) // the relaxation uses the items of the first tier
			for i := range items {
				items[i].Copies = left[i]
			}
		}
	}
	wait()
	out.floor = func(nodes []*node) float64 { return bound(relaxation, nodes, &whole) }
	return out
}

// packTier packs the problem's items into nodes of a tier: the pools of one weight. Item i is segment i of a. left[i] is
// the number of copies of item i that still have no node.
func (k *packing) packTier(problem *binpack.Problem, o Options, pools []*catalog.Pool, a *assign.Assignment) (left []int) {
	solution := binpack.Solve(problem, binpack.Options{Fast: o.Fast, RelaxDistinct: o.RelaxMinValues})
	made := map[*binpack.Bin]*node{}
	for _, b := range solution.Bins {
		n := made[b]
		if n == nil {
			pool := pools[b.Catalog]
			parts := make([]part, len(b.Parts))
			for i, x := range b.Parts {
				parts[i] = part{segment: a.Segments[x.Item], copies: x.Copies}
			}
			n = newNode(pool, b.Type, pool.Set(int(b.Offers)), parts)
			n.charge = b.Charge
			made[b] = n
		}
		k.limits.Take(n.instance(), n.charge, 1)
		k.nodes = append(k.nodes, n)
	}
	for i, n := range solution.Left {
		k.served[i] = len(a.Segments[i].Pods) - n*a.Segments[i].Size
	}
	return solution.Left
}

// A knownBound is a lower bound computed in advance: the bound for copies[i] copies of each item i.
type knownBound struct {
	copies []int
	bound  float64
}

// bound returns the lower bound that packing.floor describes. A node from a reservation adds its own price, because the
// relaxation has no reservations. A node under a commitment adds none. If the nodes hold exactly k.copies, bound returns
// k.bound.
func bound(r *binpack.Relaxation, nodes []*node, k *knownBound) float64 {
	copies, reserved := make([]int, len(k.copies)), 0.0
	for _, n := range nodes {
		if n.instance().Reservation != nil {
			if !n.instance().Reservation.Commitment { // nodes that a commitment covers may cost nothing
				reserved += n.price
			}
			continue
		}
		for _, x := range n.parts {
			copies[x.segment.Index] += x.copies
		}
	}
	if slices.Equal(copies, k.copies) {
		return k.bound
	}
	if !slices.ContainsFunc(copies, func(n int) bool { return n > 0 }) {
		return reserved
	}
	return reserved + r.Bound(copies)
}

// problemOf returns the bin packing problem of the items and pools, which are consecutive in Catalog.Pools. l is what
// limits, reservations and commitments still allow.
func problemOf(p *compile.Problem, o Options, pools []*catalog.Pool, items []binpack.Item, l *catalog.Limits) *binpack.Problem {
	out := &binpack.Problem{
		Dimensions: p.Dimensions.Len(), Units: p.Dimensions.Units, Groups: len(p.Groups),
		Supplies: l.Supplies(), Fee: o.NodeOverheadCost,
	}
	for _, pool := range pools {
		c := *pool.Bins()
		c.Budget = slices.Clone(l.Left(pool))
		out.Catalogs = append(out.Catalogs, c)
	}
	out.Items = items
	if len(pools) < len(p.Catalog.Pools) {
		from := pools[0].Index
		out.Items = slices.Clone(items)
		for i := range out.Items {
			out.Items[i].Uses = items[i].Uses[from : from+len(pools)]
		}
	}
	return out
}

// itemsOf returns the segments as items of package binpack, in the same order. Sorted by name, the items have the same
// order.
func itemsOf(a *assign.Assignment) []binpack.Item {
	items := make([]binpack.Item, len(a.Segments))
	uses := map[*catalog.Fit][]binpack.Use{}
	for i, s := range a.Segments {
		on := uses[s.Fit]
		if on == nil {
			on = usesOf(s.Fit)
			uses[s.Fit] = on
		}
		items[i] = binpack.Item{
			Name: strconv.Itoa(1_000_000_000 + i)[1:], Demand: s.Demand.Amount, Copies: s.Copies(),
			Uses: on, Counts: countsOf(s), Bounds: boundsOf(s.Rules), Priority: s.Class.Priority,
		}
	}
	return items
}

// usesOf returns the offer sets and types of a Fit in the form of package binpack, by pool.
func usesOf(f *catalog.Fit) []binpack.Use {
	out := make([]binpack.Use, len(f.ByPool))
	for i, on := range f.ByPool {
		out[i] = binpack.Use{Offers: binpack.NoOffers}
		if on.Set != nil {
			out[i] = binpack.Use{Offers: binpack.OfferSet(on.Set.ID), Types: on.Types}
		}
	}
	return out
}

// countsOf returns how many pods of one bundle each topology group over the hostname counts. Such a group is a conflict
// group of package binpack.
func countsOf(s *assign.Segment) []binpack.Count {
	var out []binpack.Count
	for i, m := range s.Members {
		out = append(out, binpack.Count{Group: m, N: s.Weight(i)})
	}
	slices.SortFunc(out, func(a, b binpack.Count) int { return a.Group - b.Group })
	return out
}

// boundsOf returns bounds on the contents of a node that holds a pod with the rules: the most pods of each topology group
// over the hostname. Affinity over the hostname sets no bound: bundles and DaemonFilters ensure that the node has the
// required pod.
func boundsOf(rules []compile.Rule) []binpack.Bound {
	var out []binpack.Bound
	for _, r := range rules {
		b := binpack.Bound{Group: r.Group, Soft: r.Soft}
		switch {
		case r.Kind == topology.Near:
			continue
		case r.Kind == topology.Spread:
			b.Max = r.MaxSkew
		case r.Self:
			b.Max = 1
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b binpack.Bound) int { return a.Group - b.Group })
	return out
}
