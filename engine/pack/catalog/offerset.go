package catalog

import (
	"encoding/binary"
	"math"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/require"
)

// An OfferSet is the offerings of one pool that label requirements leave. Pods with the same requirements share one. Pods of
// two sets may share a node if the sets meet.
type OfferSet struct {
	ID           int
	Requirements require.Set
	// PriceClass is equal for sets of the pool with equal Prices.
	PriceClass int
	// Prices are those of the cheapest offering of each type of the pool, +Inf where the set has none.
	Prices []float64
	// Types are those with an offering in the set.
	Types typeset.Set
	// MinValues says that some requirement has minValues.
	MinValues bool

	neighbours [][]Presence
}

// MinPrice stands in for a price of zero: a free node would make any waste look free as well.
const MinPrice = 1e-9

// Same is the relative difference below which two prices count as equal.
const Same = 1e-6

// offerSets holds the sets of one pool, each once.
type offerSets struct {
	list    []*OfferSet
	byText  map[string]*OfferSet
	meets   map[[2]int]*OfferSet // nil for two sets without a common offering
	classes map[string]int       // price classes
	made    int                  // how many sets Meet has made
}

func newOfferSets() offerSets {
	return offerSets{byText: map[string]*OfferSet{}, meets: map[[2]int]*OfferSet{}, classes: map[string]int{}}
}

// Empty reports whether no type has an offering in the set.
func (s *OfferSet) Empty() bool { return !s.Types.Any() }

// Set returns the set with that ID.
func (p *Pool) Set(id int) *OfferSet { return p.sets.list[id] }

// OffersUnder returns the set of offerings that the requirements, which are within the pool's, leave.
func (p *Pool) OffersUnder(reqs require.Set) *OfferSet {
	text := reqs.String()
	if s, ok := p.sets.byText[text]; ok {
		return s
	}
	n := len(p.Types)
	s := &OfferSet{ID: len(p.sets.list), Requirements: reqs, Prices: make([]float64, n), Types: typeset.New(n)}
	encoded := make([]byte, 0, 8*n)
	for i, t := range p.Types {
		v := t.price(reqs)
		if !math.IsInf(v, 1) {
			v = max(v, MinPrice)
			s.Types.Add(i)
		}
		s.Prices[i] = v
		encoded = binary.LittleEndian.AppendUint64(encoded, math.Float64bits(v))
	}
	for r := range reqs.All() {
		s.MinValues = s.MinValues || r.MinValues() > 0
	}
	class, ok := p.sets.classes[string(encoded)]
	if !ok {
		class = len(p.sets.classes)
		p.sets.classes[string(encoded)] = class
	}
	s.PriceClass = class
	p.sets.list = append(p.sets.list, s)
	p.sets.byText[text] = s
	return s
}

// maxMeets bounds the sets that a pool makes of others. Pods that require ever other labels could ask for any number of
// combinations; pods of sets that do not meet any more get nodes of their own.
const maxMeets = 2_000

// Meet returns the offerings in both sets, nil if there are none: what a node that holds pods of both can be.
func (p *Pool) Meet(a, b *OfferSet) *OfferSet {
	if a == b {
		return a
	}
	key := [2]int{min(a.ID, b.ID), max(a.ID, b.ID)}
	if s, ok := p.sets.meets[key]; ok {
		return s
	}
	var s *OfferSet
	if _, ok := a.Requirements.Intersects(b.Requirements); ok && p.sets.made < maxMeets {
		p.sets.made++
		if s = p.OffersUnder(a.Requirements.And(b.Requirements)); s.Empty() {
			s = nil
		}
	}
	p.sets.meets[key] = s
	return s
}

// OffersFor returns the set for pods that require the term; nil if the pool's labels cannot meet it.
func (p *Pool) OffersFor(term require.Set) *OfferSet {
	term = term.Normalize(p.settings.Labels.Aliases)
	if _, ok := p.Requirements.Compatible(term, p.settings.Known); !ok {
		return nil
	}
	return p.OffersUnder(p.Requirements.And(term))
}
