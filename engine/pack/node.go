package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A node is a planned node while the plan is made. Equal nodes may share a pointer, so a node that is part of a packing
// must not be modified.
type node struct {
	bin      *binpack.Bin // Parts[i].Item is the index of a segment, of which each copy is a bundle
	pool     *catalog.Pool
	instance *catalog.Type     // the type that package binpack chose. The node may be launched as another type (draft.launch)
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
	if !own.CoversAll(reqs) {
		reqs = reqs.With(require.New(corev1.LabelTopologyZone, require.In, own.ZonesWithin(reqs)...))
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
