package catalog

import (
	"github.com/karpenter-go/karpenter/engine/binpack"
)

// Bins returns the pool's types and offerings as a catalog of package binpack, without a budget. It must not be called
// before Type.Room of each type is final.
func (p *Pool) Bins() *binpack.Catalog {
	if p.bins != nil {
		return p.bins
	}
	p.bins = &binpack.Catalog{Offers: offerAlgebra{p}}
	for _, t := range p.Types {
		b := binpack.BinType{
			Name: t.name, Capacity: t.Room, Charge: t.Charge,
			Supply: supplyOf(t.Reservation), Draw: t.Draw, Paid: t.Reservation != nil && t.Reservation.Commitment,
		}
		p.bins.Types = append(p.bins.Types, b)
	}
	p.bins.Index = binpack.NewIndex(p.bins)
	return p.bins
}

// supplyOf returns the index of the reservation as a supply of package binpack, -1 for no reservation.
func supplyOf(r *Reservation) int {
	if r == nil {
		return -1
	}
	return r.Index
}

// An offerAlgebra implements binpack.Offers for the OfferSets of a pool. An OfferSet has the same ID in both packages.
type offerAlgebra struct{ p *Pool }

// Meet returns the intersection of two sets, see binpack.Offers.
func (o offerAlgebra) Meet(a, b binpack.OfferSet) (binpack.OfferSet, bool) {
	s := o.p.Meet(o.p.Set(int(a)), o.p.Set(int(b)))
	if s == nil {
		return binpack.NoOffers, false
	}
	return binpack.OfferSet(s.ID), true
}

// Prices returns OfferSet.Prices of the set, see binpack.Offers.
func (o offerAlgebra) Prices(s binpack.OfferSet) []float64 { return o.p.Set(int(s)).Prices }

// Distinct returns the minValues of the set as conditions, see binpack.Offers.
func (o offerAlgebra) Distinct(s binpack.OfferSet) []binpack.Distinct {
	var out []binpack.Distinct
	for _, r := range o.p.Set(int(s)).MinValues {
		numbers := map[string]int32{}
		d := binpack.Distinct{Min: r.MinValues(), Values: make([][]int32, len(o.p.Types))}
		for i, t := range o.p.Types {
			for v := range t.OwnValues(r) {
				if _, ok := numbers[v]; !ok {
					numbers[v] = int32(len(numbers))
				}
				d.Values[i] = append(d.Values[i], numbers[v])
			}
		}
		out = append(out, d)
	}
	return out
}
