package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
)

// A node is a new node of the plan in the making. Equal nodes may share a pointer; nodes are not changed once made.
type node struct {
	pool   *catalog.Pool
	typ    int // the cheapest of its options, in pool.Types
	offers *catalog.OfferSet
	parts  []part
	amount []int64 // what its pods request
	shared catalog.SharedVolumes
	charge model.Resources // what it takes out of the limits of the pool
	price  float64
}

// A part is a number of bundles of one segment on a node.
type part struct {
	segment *assign.Segment
	copies  int
}

// newNode returns the node with these parts, without a charge.
func newNode(pool *catalog.Pool, typ int, offers *catalog.OfferSet, parts []part) *node {
	n := &node{pool: pool, typ: typ, offers: offers, parts: parts, price: offers.Prices[typ]}
	n.amount = make([]int64, len(parts[0].segment.Demand.Amount))
	for _, x := range parts {
		catalog.Subtract(n.amount, x.segment.Demand.Amount, -x.copies)
		n.shared = n.shared.With(x.segment.Demand.Shared)
	}
	return n
}

// instance returns the type that the node is planned as.
func (n *node) instance() *catalog.Type { return n.pool.Types[n.typ] }

// pods returns the number of the node's pods.
func (n *node) pods() int {
	sum := 0
	for _, x := range n.parts {
		sum += x.copies * x.segment.Size
	}
	return sum
}

// admits returns which types may hold the node's pods as far as host ports and DaemonSet pods are concerned; nil if all with
// room may.
func (n *node) admits() func(typ int) bool {
	if !slices.ContainsFunc(n.parts, func(x part) bool { return x.segment.Fit.Restricted }) {
		return nil
	}
	return func(typ int) bool {
		for _, x := range n.parts {
			if x.segment.Fit.Restricted && !x.segment.Fit.On[n.pool.Index].Types.Has(typ) {
				return false
			}
		}
		return n.preloadsNoMore(typ)
	}
}

// preloadsNoMore reports whether a node of the type has no more DaemonSet pods that count for spread than one of n's type.
func (n *node) preloadsNoMore(typ int) bool {
	bins := n.pool.Bins().Types
	return !slices.ContainsFunc(bins[typ].Preload, func(x binpack.Count) bool {
		i := slices.IndexFunc(bins[n.typ].Preload, func(y binpack.Count) bool { return y.Group == x.Group })
		return i < 0 || bins[n.typ].Preload[i].N < x.N
	})
}
