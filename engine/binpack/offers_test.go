package binpack_test

import (
	"math"

	"github.com/karpenter-go/karpenter/engine/binpack"
)

// An offer is a price with labels, as bits.
type offer struct {
	price  float64
	labels uint
}

// labelOffers implements binpack.Offers: an offer set is all offers that have certain labels.
type labelOffers struct {
	byType   [][]offer
	sets     []uint // sets[id] are the labels that all offers of the set have
	distinct []binpack.Distinct
}

// with returns the set of offers that have all these labels.
func (l *labelOffers) with(labels uint) binpack.OfferSet {
	for i, s := range l.sets {
		if s == labels {
			return binpack.OfferSet(i)
		}
	}
	l.sets = append(l.sets, labels)
	return binpack.OfferSet(len(l.sets) - 1)
}

func (l *labelOffers) Meet(a, b binpack.OfferSet) (binpack.OfferSet, bool) {
	s := l.with(l.sets[a] | l.sets[b])
	for _, p := range l.Prices(s) {
		if !math.IsInf(p, 1) {
			return s, true
		}
	}
	return s, false
}

func (l *labelOffers) Prices(s binpack.OfferSet) []float64 {
	out := make([]float64, len(l.byType))
	for j := range out {
		out[j] = l.price(j, l.sets[s])
	}
	return out
}

// price returns the price of the cheapest offer of type j with all these labels, +Inf if there is none.
func (l *labelOffers) price(j int, labels uint) float64 {
	best := math.Inf(1)
	for _, o := range l.byType[j] {
		if o.labels&labels == labels {
			best = min(best, o.price)
		}
	}
	return best
}

func (l *labelOffers) Distinct(binpack.OfferSet) []binpack.Distinct { return l.distinct }
