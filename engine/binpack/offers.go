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

// An offerTable caches the offer sets of a catalog and their intersections. sets[id] is nil until the set is first
// used. meets[{a, b}] with a < b is the intersection of a and b, nil if it is empty. priceClasses maps the encoding of
// offerSet.price to offerSet.priceClass.
type offerTable struct {
	offers       Offers
	sets         []*offerSet
	meets        map[[2]OfferSet]*offerSet
	priceClasses map[string]int
}

// set returns the offer set with this identifier, nil for NoOffers.
func (t *offerTable) set(id OfferSet) *offerSet {
	if id < 0 {
		return nil
	}
	for len(t.sets) <= int(id) {
		t.sets = append(t.sets, nil)
	}
	if t.sets[id] == nil {
		t.sets[id] = t.newSet(id)
	}
	return t.sets[id]
}

func (t *offerTable) newSet(id OfferSet) *offerSet {
	s := &offerSet{id: id, price: t.offers.Prices(id), distinct: t.offers.Distinct(id)}
	s.types = typeset.New(len(s.price))
	name := make([]byte, 0, 8*len(s.price))
	for i, v := range s.price {
		if v < infinite {
			s.types.Add(i)
		}
		name = binary.LittleEndian.AppendUint64(name, math.Float64bits(v))
	}
	at, ok := t.priceClasses[string(name)]
	if !ok {
		at = len(t.priceClasses)
		t.priceClasses[string(name)] = at
	}
	s.priceClass = at
	return s
}

// meet returns the intersection of both offer sets, nil if it is empty.
func (t *offerTable) meet(a, b *offerSet) *offerSet {
	if a == b {
		return a
	}
	key := [2]OfferSet{min(a.id, b.id), max(a.id, b.id)}
	if s, ok := t.meets[key]; ok {
		return s
	}
	var s *offerSet
	if id, ok := t.offers.Meet(a.id, b.id); ok {
		if s = t.set(id); !s.types.Any() {
			s = nil
		}
	}
	t.meets[key] = s
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
	for i := range s.distinct {
		if !s.distinct[i].satisfied(types) {
			return false
		}
	}
	return true
}

func (d *Distinct) satisfied(types []int) bool {
	var seen []int32
	for _, j := range types {
		for _, v := range d.Values[j] {
			if len(seen) >= d.Min {
				return true
			}
			if !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
	}
	return len(seen) >= d.Min
}
