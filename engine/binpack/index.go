package binpack

import (
	"encoding/binary"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// An Index finds the bin types of one catalog that hold a demand, and orders them by price. It caches the offer sets of the
// catalog, their intersections and the results of Options. So two goroutines must not use it at the same time.
type Index struct {
	types        []BinType
	offers       Offers
	sets         map[OfferSet]*offerSet    // those that were used
	meets        map[[2]OfferSet]*offerSet // meets[{a, b}] with a < b is the intersection of a and b, nil if it is empty
	priceClasses map[string]int            // offerSet.priceClass by the encoding of offerSet.price
	options      map[optionsKey]*TypeOptions
}

// TypeOptions are the bin types that hold the contents of a bin, see Index.Options.
type TypeOptions struct {
	// Types are indices of bin types by rising price. The slice is shared and must not be modified.
	Types []int
}

// An optionsKey identifies a cached result of Options: the offer set, the supply, and the set of types as bytes.
type optionsKey struct {
	offers OfferSet
	supply int
	types  string
}

// NewIndex returns an index of the catalog.
func NewIndex(c *Catalog) *Index {
	return &Index{
		types: c.Types, offers: c.Offers, sets: map[OfferSet]*offerSet{}, meets: map[[2]OfferSet]*offerSet{},
		priceClasses: map[string]int{}, options: map[optionsKey]*TypeOptions{},
	}
}

// Holding removes from b the types without capacity for the demand, and returns b.
func (x *Index) Holding(b typeset.Set, demand []int64) typeset.Set {
	b.Each(func(j int) {
		if !vector.Fits(demand, x.types[j].Capacity) {
			b.Remove(j)
		}
	})
	return b
}

// Options returns the types with an offer in s and capacity for the demand that are in each of the sets among. It returns
// only types whose BinType.Supply equals supply (-1: the types without a supply). s must not be NoOffers. Results are
// cached: two calls with equal s and supply return the same pointer if the same types meet the other conditions.
func (x *Index) Options(s OfferSet, demand []int64, supply int, among ...typeset.Set) *TypeOptions {
	set := x.set(s)
	b := slices.Clone(set.types)
	for _, o := range among {
		b.Keep(o)
	}
	b = x.Holding(b, demand)
	name := make([]byte, 0, 8*len(b))
	for _, w := range b {
		name = binary.LittleEndian.AppendUint64(name, w)
	}
	if out := x.options[optionsKey{s, supply, string(name)}]; out != nil {
		return out
	}
	out := &TypeOptions{Types: make([]int, 0, b.Len())}
	for _, j := range set.cheapestFirst() {
		if b.Has(j) && x.types[j].Supply == supply {
			out.Types = append(out.Types, j)
		}
	}
	x.options[optionsKey{s, supply, string(name)}] = out
	return out
}
