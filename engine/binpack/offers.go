package binpack

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
)

// An offerSet is a set of offers of one catalog, with the lowest price of each bin type in it.
type offerSet struct {
	id OfferSet
	// priceClass is equal for offer sets with equal prices.
	priceClass int
	price      []float64   // price[j] is the lowest price of type j in the set; +Inf if it has none
	types      typeset.Set // the types with an offer in the set
	byPrice    []int       // types by rising price; nil until cheapestFirst is called
	distinct   []Distinct  // the conditions on bins with this offer set
}

// set returns the offer set with this identifier, nil for NoOffers.
func (x *Index) set(id OfferSet) *offerSet {
	if s := x.sets[id]; s != nil || id == NoOffers {
		return s
	}
	s := &offerSet{id: id, price: x.offers.Prices(id), distinct: x.offers.Distinct(id)}
	s.types = typeset.New(len(s.price))
	name := make([]byte, 0, 8*len(s.price))
	for i, v := range s.price {
		if v < infinite {
			s.types.Add(i)
		}
		name = binary.LittleEndian.AppendUint64(name, math.Float64bits(v))
	}
	at, ok := x.priceClasses[string(name)]
	if !ok {
		at = len(x.priceClasses)
		x.priceClasses[string(name)] = at
	}
	s.priceClass = at
	x.sets[id] = s
	return s
}

// meet returns the intersection of both offer sets, nil if it is empty.
func (x *Index) meet(a, b *offerSet) *offerSet {
	if a == b {
		return a
	}
	key := [2]OfferSet{min(a.id, b.id), max(a.id, b.id)}
	if s, ok := x.meets[key]; ok {
		return s
	}
	var s *offerSet
	if id, ok := x.offers.Meet(a.id, b.id); ok {
		if s = x.set(id); !s.types.Any() {
			s = nil
		}
	}
	x.meets[key] = s
	return s
}

// cheapestFirst returns the types of the set by rising price. Types of equal price are in order of index.
func (s *offerSet) cheapestFirst() []int {
	if s.byPrice == nil {
		s.byPrice = []int{}
		s.types.Each(func(j int) { s.byPrice = append(s.byPrice, j) })
		slices.SortStableFunc(s.byPrice, func(a, b int) int { return cmp.Compare(s.price[a], s.price[b]) })
	}
	return s.byPrice
}

// satisfied reports whether these option types meet all Distinct conditions of the set.
func (s *offerSet) satisfied(types []int) bool {
	return !slices.ContainsFunc(s.distinct, func(d Distinct) bool { return !d.satisfied(types) })
}

func (d *Distinct) satisfied(types []int) bool {
	var seen []int32
	for _, j := range types {
		for _, v := range d.Values[j] {
			if !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
		if len(seen) >= d.Min {
			return true
		}
	}
	return len(seen) >= d.Min
}
