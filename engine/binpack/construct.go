package binpack

import (
	"math"
	"slices"
)

// A search packs the items that it was created for. It holds their demand, the candidates and the dual prices.
type search struct {
	in         *instance
	demand     *demand
	candidates *candidates
	pricing    *pricing
	builder    *builder
}

// newSearch returns a search for the items, nil if there are no items.
func newSearch(in *instance, items []*item) *search {
	if len(items) == 0 {
		return nil
	}
	s := &search{in: in, demand: newDemand(in, items)}
	s.candidates = newCandidates(in, s.demand)
	s.pricing = newPricing(in, s.demand, s.candidates)
	s.builder = newBuilder(in, s.demand, s.candidates, s.pricing)
	s.builder.effort = s.chooseEffort()
	return s
}

const (
	// manyBins: if a scarce cardinality requires manyBins bins or more, the search spends least effort per bin. Such
	// bins hold few copies, so there is little to choose.
	manyBins = 200
	// A problem is sparse if it has at least minCopies copies and about fewCopies or fewer copies per bin. maxSample
	// is the number of item types that each pattern considers in a sparse problem. usualSample is that number
	// otherwise.
	fewCopies   = 6
	minCopies   = 100
	maxSample   = 6000
	usualSample = 600
	// near: around stops when the best pattern reaches near times the bound of the next candidate.
	near = 0.999
)

// chooseEffort returns how many patterns the search builds for each bin, and how.
func (s *search) chooseEffort() effort {
	switch {
	case slices.ContainsFunc(s.demand.scarce, func(c cardinality) bool { return c.bins >= manyBins }):
		return effort{stars: 1, tried: 1, orders: orders[:1], sample: usualSample}
	case s.isSparse() && len(s.decidingDimensions()) == 2:
		return effort{stars: 1, tried: 6, orders: []order{byValue}, sample: maxSample, sparse: true}
	}
	return s.usualEffort()
}

func (s *search) usualEffort() effort {
	return effort{
		stars: 2, tried: max(4, min(10, 4000/len(s.demand.types))), orders: orders[:], sample: usualSample,
	}
}

// isSparse reports whether bins are expected to hold few copies. All item types must use the same offers, without
// conflicts, shared demands or Distinct conditions.
func (s *search) isSparse() bool {
	copies, types := 0, s.demand.types
	for _, t := range types {
		copies += t.left
		if t.hasConflicts || len(t.shared) > 0 || slices.ContainsFunc(s.in.catalogs, func(c *catalog) bool {
			o := t.fit.on[c.index].offers
			return o != types[0].fit.on[c.index].offers || o != nil && len(o.distinct) > 0
		}) {
			return false
		}
	}
	list := s.candidates.byRank()
	return copies >= minCopies && len(list) > 0 && list[0].value*float64(copies) <= fewCopies*s.demand.total
}

// construct opens bins until no copies are left that can be packed.
//
// Values come from the dual prices of the relaxation for the copies left. construct opens the pattern with the most
// value per dollar as often as copies, budgets and supplies allow, then the next. It updates the dual prices from
// time to time. This is the pricing step of column generation used greedily (Gilmore and Gomory 1961).
func (s *search) construct() []*pattern {
	if !s.pricing.update() {
		return nil
	}
	for _, t := range s.demand.types {
		t.base = t.value
	}
	for _, c := range s.candidates.list {
		c.first = c.best
	}
	return s.open(true)
}

const (
	// repriceShare is the share of the value at the last update of dual prices. If less is left, they are updated.
	repriceShare = 0.95
	// poorRatio is the ratio (value per dollar) below which a pattern is not opened at once. The dual prices are
	// updated first, if copies were packed since the last update.
	poorRatio = 0.985
)

// open opens bins at the current values until no pattern can be opened. If moving is true, it updates the dual prices
// from time to time.
func (s *search) open(moving bool) []*pattern {
	var bins []*pattern
	d := s.demand
	for !s.in.meter.exhausted() {
		best := s.best()
		if best == nil {
			return bins
		}
		if moving && best.ratio() < poorRatio && d.total < s.pricing.priced*(1-same) {
			if !s.pricing.update() {
				return bins
			}
			if best = s.best(); best == nil {
				return bins
			}
		}
		bins = append(bins, s.take(best)...)
		if d.sum(); d.total <= 0 {
			return bins
		}
		if moving && d.total < repriceShare*s.pricing.priced && !s.pricing.update() {
			return bins
		}
	}
	return bins
}

// apart: best skips 1/apart of the item types between two stars. A star is the item type that a pattern is built
// around.
const apart = 16

// best returns the pattern with the best ratio around a few of the most valuable item types. It returns nil if no
// pattern can be opened.
func (s *search) best() *pattern {
	var best *pattern
	stars, next := 0, 0
	for i, t := range s.demand.byValue {
		if t.left == 0 || t.stuck || i < next {
			continue
		}
		if p := s.around(t); p == nil {
			t.stuck = true
		} else if p.better(best) {
			best = p
		}
		if stars++; stars >= s.builder.effort.stars && best != nil {
			break
		}
		next = i + 1 + len(s.demand.byValue)/apart
	}
	return best
}

// around returns the best pattern that contains at least one copy of star, nil if there is none.
func (s *search) around(star *itemType) *pattern {
	b := s.builder
	var best *pattern
	n := 0
	w := s.candidates.walk(s.demand.total, s.pricing.fee)
	for c, bound := w.step(); c != nil; c, bound = w.step() {
		if s.in.meter.exhausted() || best != nil && (n >= b.effort.tried || best.ratio() >= bound*near) {
			break
		}
		if on := &star.fit.on[c.catalog.index]; on.offers == nil || !on.types.Has(c.typ) || c.soldOut() {
			continue
		}
		n++
		for _, fill := range b.effort.orders {
			p := b.build(c, star, fill)
			if p == nil {
				continue
			}
			if !b.effort.sparse {
				b.polish(p)
			}
			if p.better(best) {
				best = p
			}
		}
	}
	return best
}

// take opens the pattern as often as copies, budgets and supplies allow. It then opens patterns alike to p, until the
// value left is about repriceShare of the value before.
func (s *search) take(p *pattern) []*pattern {
	p.resize()
	p.setCharge(s.in.options.RelaxDistinct)
	most := int(min(p.catalog.affordCharged(p.charged(), p.catalog.types[p.typ].Supply), math.MaxInt32))
	times := most
	for _, x := range p.parts {
		times = min(times, x.item.left/x.n)
	}
	bins := slices.Repeat([]*pattern{p}, times)
	p.move(times)
	for enough := int(s.demand.total * (1 - repriceShare) / p.value); times < min(most, enough); times++ {
		like := p.alike()
		if like == nil {
			break
		}
		like.move(1)
		bins = append(bins, like)
	}
	return bins
}
