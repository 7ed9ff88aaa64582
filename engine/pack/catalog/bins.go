package catalog

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Bins returns the pool's types and offerings as a catalog of package binpack, without a budget. It must not be called
// before Type.Room of each type is final.
func (p *Pool) Bins() *binpack.Catalog {
	if p.bins != nil {
		return p.bins
	}
	names := p.limitNames()
	p.bins = &binpack.Catalog{Offers: offerAlgebra{p}}
	for _, t := range p.Types {
		b := binpack.BinType{
			Name: t.Name + " " + t.reservationID(), Capacity: t.Room, Charge: chargeVector(t.Capacity, names),
			Supply: supplyOf(t.Reservation), Draw: t.Draw, Paid: t.Reservation != nil && t.Reservation.Commitment,
		}
		p.bins.Types = append(p.bins.Types, b)
	}
	p.bins.Index = binpack.NewIndex(p.bins)
	return p.bins
}

// limitNames returns the resources that the pool limits. Entry b of binpack.Catalog.Budget and of binpack.BinType.Charge
// is the amount of resource b.
func (p *Pool) limitNames() []corev1.ResourceName { return p.Limits.Names() }

// Budget returns how much the limits of p still allow of each resource of limitNames, nil if p has no limits.
func (l *Limits) Budget(p *Pool) []int64 {
	left := l.Left(p)
	var out []int64
	for _, name := range p.limitNames() {
		out = append(out, left[name])
	}
	return out
}

// Supplies returns how many units are left of each reservation and commitment, by Reservation.Index. It is not a copy:
// callers must not change it.
func (l *Limits) Supplies() []int { return l.reservations }

// ChargeOf converts a charge, in the order of limitNames, to resources.
func (p *Pool) ChargeOf(charge []int64) model.Resources {
	out := model.Resources{}
	for i, name := range p.limitNames() {
		out[name] = charge[i]
	}
	return out
}

// chargeVector returns what a node with this capacity uses of each limited resource. Of model.Nodes it uses 1.
func chargeVector(capacity model.Resources, names []corev1.ResourceName) []int64 {
	out := make([]int64, len(names))
	for i, name := range names {
		out[i] = capacity[name]
		if name == model.Nodes {
			out[i] = 1
		}
	}
	return out
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
