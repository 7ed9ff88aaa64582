package binpack

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// An Index finds the bin types of one catalog that hold a demand, and orders them by price. Because it caches results,
// two goroutines must not use it at the same time.
type Index struct {
	types   []BinType
	offers  offerTable
	ladders []ladder // by dimension; nil until allLadders is called
	lookups int      // the number of calls of Holding
	options map[optionsKey]*TypeOptions
	name    []byte // memory for optionsKey.types
	scratch typeset.Set
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

// A ladder is a sorted index of the capacities in one dimension. capacities are the distinct values, rising. types[i]
// are the bin types with a capacity of at least capacities[i].
type ladder struct {
	capacities []int64
	types      []typeset.Set
}

// NewIndex returns an index of the catalog.
func NewIndex(c *Catalog) *Index {
	return &Index{
		types: c.Types, options: map[optionsKey]*TypeOptions{},
		offers: offerTable{offers: c.Offers, meets: map[[2]OfferSet]*offerSet{}, priceClasses: map[string]int{}},
	}
}

// Holding removes from b the types without capacity for the demand, and returns b.
func (x *Index) Holding(b typeset.Set, demand []int64) typeset.Set {
	if x.lookups++; x.lookups < minLookups {
		b.Each(func(j int) {
			if !vector.Fits(demand, x.types[j].Capacity) {
				b.Remove(j)
			}
		})
		return b
	}
	for d, l := range x.allLadders(len(demand)) {
		if demand[d] <= 0 {
			continue
		}
		i := sort.Search(len(l.capacities), func(i int) bool { return l.capacities[i] >= demand[d] })
		if i == len(l.capacities) {
			clear(b)
			return b
		}
		b.Keep(l.types[i])
	}
	return b
}

// minLookups is the number of calls of Holding after which building the ladders saves time.
const minLookups = 50

// allLadders returns one ladder for each dimension. The first call builds them.
func (x *Index) allLadders(dimensions int) []ladder {
	if x.ladders != nil || dimensions == 0 {
		return x.ladders
	}
	order := make([]int, len(x.types))
	for i := range order {
		order[i] = i
	}
	x.ladders = make([]ladder, dimensions)
	for d := range x.ladders {
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x.types[b].Capacity[d], x.types[a].Capacity[d]) })
		l := &x.ladders[d]
		with := typeset.New(len(x.types))
		for _, j := range order { // by falling capacity: with holds all types that have at least the capacity of j
			with.Add(j)
			if c := x.types[j].Capacity[d]; len(l.capacities) == 0 || l.capacities[len(l.capacities)-1] != c {
				l.capacities = append(l.capacities, c)
				l.types = append(l.types, nil)
			}
			l.types[len(l.types)-1] = slices.Clone(with)
		}
		slices.Reverse(l.capacities)
		slices.Reverse(l.types)
	}
	return x.ladders
}

// Options returns the types with an offer in s and capacity for the demand that are in each of the sets among. It returns
// only types whose BinType.Supply equals supply (-1: the types without a supply). Equal results share a pointer.
func (x *Index) Options(s OfferSet, demand []int64, supply int, among ...typeset.Set) *TypeOptions {
	set := x.offers.set(s)
	b := append(x.scratch[:0], set.types...)
	for _, o := range among {
		b.Keep(o)
	}
	b = x.Holding(b, demand)
	x.scratch = b
	x.name = x.name[:0]
	for _, w := range b {
		x.name = binary.LittleEndian.AppendUint64(x.name, w)
	}
	if out := x.options[optionsKey{s, supply, string(x.name)}]; out != nil {
		return out
	}
	out := &TypeOptions{Types: make([]int, 0, b.Len())}
	for _, j := range set.cheapestFirst() {
		if b.Has(j) && x.types[j].Supply == supply {
			out.Types = append(out.Types, j)
		}
	}
	x.options[optionsKey{s, supply, string(x.name)}] = out
	return out
}
