package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A node is a planned node while the plan is made. Equal nodes may share a pointer, so a node that is part of a packing
// must not be modified.
type node struct {
	pool   *catalog.Pool
	typ    int               // index in pool.Types of the type that package binpack chose
	offers *catalog.OfferSet // the offerings that all its pods allow
	parts  []part
	amount []int64 // the sum of the requests of its pods, by dimension
	charge []int64 // what the node uses of the pool's limits, in the order of Type.Charge
	price  float64 // the price by which package binpack chose the type (OfferSet.Prices), in dollars per hour
}

// A part is the bundles of one segment on a node. copies is their number. A bundle is one pod, or several pods that
// must share a node.
type part struct {
	segment *assign.Segment
	copies  int
}

// newNode returns a node of the pool with type typ and these parts. Its charge is not set.
func newNode(pool *catalog.Pool, typ int, offers *catalog.OfferSet, parts []part) *node {
	n := &node{pool: pool, typ: typ, offers: offers, parts: parts, price: offers.Prices[typ]}
	n.amount = make([]int64, len(parts[0].segment.Demand.Amount))
	for _, x := range parts {
		vector.Subtract(n.amount, x.segment.Demand.Amount, -x.copies)
	}
	return n
}

// instance returns the type that package binpack chose. The node may be launched as another type (draft.launch).
func (n *node) instance() *catalog.Type { return n.pool.Types[n.typ] }

// coveredOptions returns options of the node by rising covered price, and the requirements of the node. Within these
// requirements, the node's commitment covers every launchable offering of each option. No option uses more units of the
// commitment than the cheapest option. That one uses at most as many as the type that package binpack chose.
func (n *node) coveredOptions(options []*catalog.Type) ([]*catalog.Type, require.Set) {
	own := n.instance()
	offering, _ := own.CheapestWithin(n.offers.Requirements)
	reqs := n.offers.Requirements.With(require.New(apiv1.CapacityTypeLabelKey, require.In, offering.CapacityType))
	if !own.CoversAll(reqs) {
		reqs = reqs.With(require.New(corev1.LabelTopologyZone, require.In, own.ZonesWithin(reqs)...))
	}
	kept := options[:0:0]
	for _, t := range options {
		if t.Draw <= own.Draw && t.CoversAll(reqs) {
			kept = append(kept, t)
		}
	}
	price := func(t *catalog.Type) float64 {
		o, _ := t.CheapestWithin(reqs)
		return o.Price
	}
	slices.SortStableFunc(kept, func(a, b *catalog.Type) int { return cmp.Compare(price(a), price(b)) })
	most := kept[0].Draw
	return slices.DeleteFunc(kept, func(t *catalog.Type) bool { return t.Draw > most }), reqs
}

// allowed returns, for each part, the types of the pool that hold one bundle of its segment (catalog.PoolFit.Types).
func (n *node) allowed() []typeset.Set {
	out := make([]typeset.Set, len(n.parts))
	for i, x := range n.parts {
		out[i] = x.segment.Fit.ByPool[n.pool.Index].Types
	}
	return out
}
