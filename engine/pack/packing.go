package pack

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A packing is the result of bin packing: the new nodes with the pods on each. A segment (assign.Segment) is pods of
// one class that need new nodes in the same domains.
type packing struct {
	nodes []*node
	// limits are what remains of pool limits, reservations and commitments after the charges of the nodes.
	limits *catalog.Limits
	// floor returns a lower bound on the price of nodes that hold the pods of the given nodes. It assumes that the given
	// nodes from reservations and under commitments keep their pods, and that only these nodes use reservations and
	// commitments. It is nil if there are no nodes.
	floor func([]*node) float64
}

// packNodes packs the segments into new nodes. The pools of the highest weight are filled first. Pods for which these
// pools or their limits allow no node go to the pools of the next weight. Among pools of one weight only the price decides.
func packNodes(o Options, a *assign.Assignment) *packing {
	out := &packing{limits: a.Limits.Clone()}
	if len(a.Segments) == 0 {
		return out
	}
	items, pools := itemsOf(a), a.Problem.Catalog.Pools
	all := make([]int, len(items)) // the number of copies of each item
	for i := range items {
		all[i] = items[i].Copies
	}
	relaxation := binpack.NewRelaxation(out.problem(a, o, pools, items, all))
	var whole float64
	wait := compile.Async(func() { whole = relaxation.Bound(all) }) // floor usually needs the bound for all copies
	for left := all; len(pools) > 0; {
		n := slices.IndexFunc(pools, func(x *catalog.Pool) bool { return x.Weight != pools[0].Weight })
		if n < 0 {
			n = len(pools)
		}
		left = out.packTier(a, o, pools[:n], items, left)
		pools = pools[n:]
	}
	wait()
	out.floor = func(nodes []*node) float64 {
		copies, reserved := unreserved(nodes, len(items))
		if slices.Equal(copies, all) {
			return whole
		}
		return reserved + relaxation.Bound(copies)
	}
	return out
}

// packTier packs copies[i] copies of each item i into nodes of a tier: the pools of one weight. Item i is segment i of a.
// left[i] is the number of copies of item i that still have no node.
func (k *packing) packTier(a *assign.Assignment, o Options, pools []*catalog.Pool, items []binpack.Item, copies []int) (left []int) {
	solution := binpack.Solve(k.problem(a, o, pools, items, copies), binpack.Options{Fast: o.Fast, RelaxDistinct: o.RelaxMinValues})
	made := map[*binpack.Bin]*node{}
	for _, b := range solution.Bins {
		n := made[b]
		if n == nil {
			n = newNode(pools[b.Catalog], b, a.Segments)
			made[b] = n
		}
		k.limits.Take(n.instance, n.bin.Charge, 1)
		k.nodes = append(k.nodes, n)
	}
	return solution.Left
}

// unreserved returns how many copies of each item are on nodes that use no reservation or commitment, and the price of the
// nodes from reservations. A node under a commitment adds no price, because nodes that a commitment covers may cost nothing.
func unreserved(nodes []*node, items int) (copies []int, reserved float64) {
	copies = make([]int, items)
	for _, n := range nodes {
		switch r := n.instance.Reservation; {
		case r == nil:
			for _, x := range n.bin.Parts {
				copies[x.Item] += x.Copies
			}
		case !r.Commitment:
			reserved += n.bin.Price
		}
	}
	return copies, reserved
}

// problem returns the bin packing problem of copies[i] copies of each item i and the pools, which are consecutive in
// Catalog.Pools. For all pools, copies must be Item.Copies. Its budgets and supplies are what k.limits still allow.
func (k *packing) problem(a *assign.Assignment, o Options, pools []*catalog.Pool, items []binpack.Item, copies []int) *binpack.Problem {
	d := a.Problem.Dimensions
	out := &binpack.Problem{
		Dimensions: d.Len(), Units: d.Units, Groups: len(a.Problem.Groups), Items: items,
		Supplies: k.limits.Supplies(), Fee: o.NodeOverheadCost,
	}
	for _, pool := range pools {
		c := *pool.Bins()
		c.Budget = slices.Clone(k.limits.Left(pool))
		out.Catalogs = append(out.Catalogs, c)
	}
	if len(pools) < len(a.Problem.Catalog.Pools) {
		out.Items = slices.Clone(items)
		from := pools[0].Index
		for i := range out.Items {
			out.Items[i].Copies = copies[i]
			out.Items[i].Uses = items[i].Uses[from : from+len(pools)]
		}
	}
	return out
}

// itemsOf returns the segments as items of package binpack, in the same order. Uses are those of all pools. Sorted by name,
// the items have the same order.
func itemsOf(a *assign.Assignment) []binpack.Item {
	items := make([]binpack.Item, len(a.Segments))
	for i, s := range a.Segments {
		items[i] = binpack.Item{
			Name: strconv.Itoa(1_000_000_000 + i)[1:], Demand: s.Demand.Amount, Copies: len(s.Pods) / s.Size, Uses: usesOf(s.Fit),
			Counts: countsOf(s), Bounds: boundsOf(s.Rules), Priority: s.Class.Priority,
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
	for group, n := range s.Counts() {
		out = append(out, binpack.Count{Group: group, N: n})
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
		case r.Kind == topology.Affinity:
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

// A node is a planned node while the plan is made. Equal nodes may share a pointer, so a node that is part of a packing
// must not be modified.
type node struct {
	bin      *binpack.Bin // Parts[i].Item is the index of a segment, of which each copy is a bundle
	pool     *catalog.Pool
	instance *catalog.Type     // the type that package binpack chose. The node may be launched as another type (draft.chooseOptions)
	offers   *catalog.OfferSet // the offerings that all its pods allow
	amount   []int64           // the sum of the requests of its pods, by dimension
}

// newNode returns a node of the pool for the bin.
func newNode(pool *catalog.Pool, b *binpack.Bin, segments []*assign.Segment) *node {
	n := &node{bin: b, pool: pool, instance: pool.Types[b.Type], offers: pool.Set(int(b.Offers))}
	n.amount = make([]int64, len(n.instance.Room))
	for _, x := range b.Parts {
		vector.Subtract(n.amount, segments[x.Item].Demand.Amount, -x.Copies)
	}
	return n
}

// coveredOptions returns options of the node by rising covered price, and the requirements of the node. Within these
// requirements, the node's commitment covers every launchable offering of each option. No option uses more units of the
// commitment than the cheapest option. That one uses at most as many as the type that package binpack chose.
func (n *node) coveredOptions(options []*catalog.Type) ([]*catalog.Type, require.Set) {
	own := n.instance
	offering, _ := own.CheapestWithin(n.offers.Requirements)
	reqs := n.offers.Requirements.With(require.New(apiv1.CapacityTypeLabelKey, require.In, offering.CapacityType))
	if !own.CoversAll(reqs) { // a commitment covers one zone, or all
		reqs = reqs.With(require.New(corev1.LabelTopologyZone, require.In, offering.Zone))
	}
	kept := slices.DeleteFunc(slices.Clone(options), func(t *catalog.Type) bool { return t.Draw > own.Draw || !t.CoversAll(reqs) })
	price := func(t *catalog.Type) float64 {
		o, _ := t.CheapestWithin(reqs)
		return o.Price
	}
	slices.SortStableFunc(kept, func(a, b *catalog.Type) int { return cmp.Compare(price(a), price(b)) })
	most := kept[0].Draw
	return slices.DeleteFunc(kept, func(t *catalog.Type) bool { return t.Draw > most }), reqs
}
