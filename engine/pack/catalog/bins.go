package catalog

import (
	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/model"
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

// Options are the types that a planned node may be launched as, cheapest first.
type Options struct {
	Types     []*Type
	Instances []*model.InstanceType // the instance types of Types, in the same order
}

// Options returns the types that have an offering in s, hold amount, use reservation r (nil: none), and are in each of the
// sets among. Callers must not change the result, because calls that find the same types share it.
func (p *Pool) Options(s *OfferSet, amount []int64, r *Reservation, among ...typeset.Set) *Options {
	found := p.Bins().Index.Options(binpack.OfferSet(s.ID), amount, supplyOf(r), among...)
	out := p.options[found]
	if out == nil {
		out = &Options{Types: make([]*Type, 0, len(found.Types)), Instances: make([]*model.InstanceType, 0, len(found.Types))}
		for _, i := range found.Types {
			out.Types = append(out.Types, p.Types[i])
			out.Instances = append(out.Instances, p.Types[i].InstanceType)
		}
		p.options[found] = out
	}
	return out
}
