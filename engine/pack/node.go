package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
)

// A node is a new node while the plan is made. Equal nodes may share a pointer, so a node in use is not modified.
type node struct {
	pool   *catalog.Pool
	typ    int // the cheapest type that fits; index in pool.Types
	offers *catalog.OfferSet
	parts  []part
	amount []int64 // sum of the requests of its pods
	shared catalog.SharedVolumes
	charge model.Resources // what it uses of the pool's limits
	price  float64
}

// A part is a number of bundles of one segment on a node. A bundle is one pod, or several that must share a node.
type part struct {
	segment *assign.Segment
	copies  int
}

// newNode returns a node with these parts. Its charge is not set.
func newNode(pool *catalog.Pool, typ int, offers *catalog.OfferSet, parts []part) *node {
	n := &node{pool: pool, typ: typ, offers: offers, parts: parts, price: offers.Prices[typ]}
	n.amount = make([]int64, len(parts[0].segment.Demand.Amount))
	for _, x := range parts {
		vector.Subtract(n.amount, x.segment.Demand.Amount, -x.copies)
		n.shared = n.shared.With(x.segment.Demand.Shared)
	}
	return n
}

// instance returns the instance type for which the node is planned.
func (n *node) instance() *catalog.Type { return n.pool.Types[n.typ] }

// pods returns the number of pods on the node.
func (n *node) pods() int {
	sum := 0
	for _, x := range n.parts {
		sum += x.copies * x.segment.Size
	}
	return sum
}

// admits returns a function that reports whether host ports and DaemonSet pods allow the node's pods on a type. nil
// means that they allow all types.
func (n *node) admits() func(typ int) bool {
	if !slices.ContainsFunc(n.parts, func(x part) bool { return x.segment.Fit.Restricted }) {
		return nil
	}
	return func(typ int) bool {
		for _, x := range n.parts {
			if x.segment.Fit.Restricted && !x.segment.Fit.ByPool[n.pool.Index].Types.Has(typ) {
				return false
			}
		}
		return n.preloadsNoMore(typ)
	}
}

// preloadsNoMore reports whether a node of the type has at most the planned type's DaemonSet pods in each spread group.
func (n *node) preloadsNoMore(typ int) bool {
	bins := n.pool.Bins().Types
	return !slices.ContainsFunc(bins[typ].Preload, func(x binpack.Count) bool {
		i := slices.IndexFunc(bins[n.typ].Preload, func(y binpack.Count) bool { return y.Group == x.Group })
		return i < 0 || bins[n.typ].Preload[i].N < x.N
	})
}
