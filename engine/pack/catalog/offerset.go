package catalog

import (
	"math"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/require"
)

// An OfferSet is the offerings of one pool that meet label requirements. Equal requirements share a pointer. Pods with
// different OfferSets may share a node if some offering is in both.
type OfferSet struct {
	ID           int // index in offerSets.list of the pool
	Requirements require.Set
	// Prices[i] is the price by which the packer chooses type i, in dollars per hour: Type.packedPrice, at least
	// minPrice. It is +Inf if the type has no offering in the set.
	Prices []float64
	// Types are the types with an offering in the set.
	Types typeset.Set
	// MinValues says that some requirement has minValues.
	MinValues bool

	daemons [][]Presence // results of Pool.daemonsOn, by type
}

// minPrice replaces lower prices, in dollars per hour. At a price of zero, unused capacity would cost nothing.
const minPrice = 1e-9

// Same is the relative difference up to which two prices are regarded as equal.
const Same = 1e-6

// An offerSets holds the OfferSets of one pool, each once.
type offerSets struct {
	list   []*OfferSet
	byText map[string]*OfferSet // by the text of OfferSet.Requirements
	made   int                  // the number of intersections computed so far
}

// Empty reports whether no type has an offering in the set.
func (s *OfferSet) Empty() bool { return !s.Types.Any() }

// Set returns the OfferSet with this ID.
func (p *Pool) Set(id int) *OfferSet { return p.sets.list[id] }

// offersUnder returns the OfferSet for the requirements, which must include those of the pool.
func (p *Pool) offersUnder(reqs require.Set) *OfferSet {
	text := reqs.String()
	if s, ok := p.sets.byText[text]; ok {
		return s
	}
	n := len(p.Types)
	s := &OfferSet{ID: len(p.sets.list), Requirements: reqs, Prices: make([]float64, n), Types: typeset.New(n)}
	for i, t := range p.Types {
		v := t.packedPrice(reqs)
		if !math.IsInf(v, 1) {
			v = max(v, minPrice)
			s.Types.Add(i)
		}
		s.Prices[i] = v
	}
	for r := range reqs.All() {
		s.MinValues = s.MinValues || r.MinValues() > 0
	}
	p.sets.list = append(p.sets.list, s)
	p.sets.byText[text] = s
	return s
}

// maxMeets is the largest number of intersections that a pool computes, because pods may have any number of different
// requirements. After that, pods with different sets get separate nodes, unless the intersection of these sets is known
// already.
const maxMeets = 2_000

// Meet returns the OfferSet of the offerings in both a and b. It returns nil if there are none, or after maxMeets
// intersections. Package binpack keeps the results.
func (p *Pool) Meet(a, b *OfferSet) *OfferSet {
	if _, ok := a.Requirements.Intersects(b.Requirements); !ok || p.sets.made >= maxMeets {
		return nil
	}
	p.sets.made++
	if s := p.offersUnder(a.Requirements.And(b.Requirements)); !s.Empty() {
		return s
	}
	return nil
}

// OffersFor returns the OfferSet for pods that require the term, nil if it has no offerings.
func (p *Pool) OffersFor(term require.Set) *OfferSet {
	term = term.Normalize(p.settings.Labels.Aliases)
	if _, ok := p.Requirements.Compatible(term, p.settings.Known); !ok {
		return nil
	}
	if s := p.offersUnder(p.Requirements.And(term)); !s.Empty() {
		return s
	}
	return nil
}
