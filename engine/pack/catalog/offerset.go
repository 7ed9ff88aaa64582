package catalog

import (
	"math"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/require"
)

// An OfferSet is the offerings of one pool that meet label requirements. Equal requirements share a pointer. Pods with
// different OfferSets may share a node if some offering is in both.
type OfferSet struct {
	ID           int // index in Pool.sets
	Requirements require.Set
	// Prices[i] is the price by which the packer chooses type i, in dollars per hour: Type.packedPrice, at least
	// minPrice. It is +Inf if the type has no offering in the set.
	Prices []float64
	// Types are the types with an offering in the set.
	Types typeset.Set
	// MinValues are those of Requirements that have minValues, in order of their keys.
	MinValues []require.Requirement

	daemons [][]Presence // results of Pool.daemonsOn, by type
}

// minPrice replaces lower prices, in dollars per hour. At a price of zero, unused capacity would cost nothing.
const minPrice = 1e-9

// Same is the relative difference up to which two prices are regarded as equal.
const Same = 1e-6

// Set returns the OfferSet with this ID.
func (p *Pool) Set(id int) *OfferSet { return p.sets[id] }

// offersUnder returns the OfferSet for the requirements, which must include those of the pool. It returns nil if no type has
// an offering that meets them.
func (p *Pool) offersUnder(reqs require.Set) *OfferSet {
	text := reqs.String()
	if s, ok := p.setOf[text]; ok {
		return s
	}
	n := len(p.Types)
	s := &OfferSet{ID: len(p.sets), Requirements: reqs, Prices: make([]float64, n), Types: typeset.New(n)}
	for i, t := range p.Types {
		s.Prices[i] = max(t.packedPrice(reqs), minPrice)
		if !math.IsInf(s.Prices[i], 1) {
			s.Types.Add(i)
		}
	}
	for r := range reqs.All() {
		if r.MinValues() > 0 {
			s.MinValues = append(s.MinValues, r)
		}
	}
	if !s.Types.Any() {
		s = nil
	} else {
		p.sets = append(p.sets, s)
	}
	p.setOf[text] = s
	return s
}

// maxMeets is the largest number of intersections that a pool computes, because pods may have any number of different
// requirements. After that, pods with different sets get separate nodes, unless the intersection of these sets is known
// already.
const maxMeets = 2_000

// Meet returns the OfferSet of the offerings in both a and b. It returns nil if there are none, or after maxMeets
// intersections. Package binpack keeps the results.
func (p *Pool) Meet(a, b *OfferSet) *OfferSet {
	if _, ok := a.Requirements.Intersects(b.Requirements); !ok || p.meets >= maxMeets {
		return nil
	}
	p.meets++
	return p.offersUnder(a.Requirements.And(b.Requirements))
}

// OffersFor returns the OfferSet for pods that require the term, nil if it has no offerings.
func (p *Pool) OffersFor(term require.Set) *OfferSet {
	term = term.Normalize(p.settings.Labels.Aliases)
	if _, ok := p.Requirements.Compatible(term, p.settings.Known); !ok {
		return nil
	}
	return p.offersUnder(p.Requirements.And(term))
}
