package binpack

import (
	"math"
	"slices"
)

// A search packs the items of one instance that it was made for.
type search struct {
	in         *instance
	demand     *demand
	candidates *candidates
	pricing    *pricing
	builder    *builder
}

// newSearch returns nil if there is nothing to pack.
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
	// manyBins is how many bins a cardinality must call for to be what the problem is about: then bins are many and hold few
	// copies, and there is little to choose.
	manyBins = 200
	// A sparse problem has fewCopies to a bin on average at most, and minCopies in all. Each pattern then looks at up to
	// maxSample item types, of usual problems at usualSample.
	fewCopies   = 6
	minCopies   = 100
	maxSample   = 6000
	usualSample = 600
	// near is how close to its bound a pattern must come to be taken without looking further.
	near = 0.999
)

// chooseEffort decides how many patterns are made for each bin.
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

// isSparse reports whether bins will hold few copies, all of which go to the same bin types, have no conflicts and share nothing.
func (s *search) isSparse() bool {
	copies, types := 0, s.demand.types
	for _, t := range types {
		copies += t.left
		if t.social || len(t.shared) > 0 || slices.ContainsFunc(s.in.catalogs, func(c *catalog) bool {
			o := t.fit.on[c.index].offers
			return o != types[0].fit.on[c.index].offers || o != nil && len(o.distinct) > 0
		}) {
			return false
		}
	}
	list := s.candidates.byRank()
	return copies >= minCopies && len(list) > 0 && list[0].value*float64(copies) <= fewCopies*s.demand.total
}

// construct opens bins until no item type has copies left that may still be packed.
//
// Values come from the relaxation of what is left. The pattern that holds the most value per dollar is opened as often as
// copies, budgets and supplies allow, then the next. From time to time values are found anew. This is the pricing step of
// column generation used greedily (Gilmore and Gomory 1961).
func (s *search) construct() []*pattern {
	if !s.pricing.update() {
		return nil
	}
	for _, t := range s.demand.types {
		t.base = t.value
	}
	for _, c := range s.candidates.list {
		c.first = slices.Clone(c.best)
	}
	return s.open(true)
}

const (
	// repriceShare is the share of the value that must be left for prices to be good still.
	repriceShare = 0.95
	// poorRatio is the ratio of a pattern below which prices are found anew before it is opened.
	poorRatio = 0.985
)

// open opens bins at the values as they are. If values may move, they are found anew now and then.
func (s *search) open(moving bool) []*pattern {
	var bins []*pattern
	d := s.demand
	for len(bins) < s.in.options.MaxBins && !s.in.meter.exhausted() {
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

// apart is how far from each other stars are: one in so many of all item types.
const apart = 16

// best returns the best pattern around some of the most valuable item types, nil if no pattern can be opened.
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

// around returns the best pattern with at least one copy of star.
func (s *search) around(star *itemType) *pattern {
	if c := s.candidates; s.demand.total < c.ranked && s.demand.total != c.total {
		s.candidates.rank(s.pricing.fee) // what is left is less than some candidate holds
	}
	b := s.builder
	var best *pattern
	n := 0
	for i := range s.candidates.list {
		c := s.candidates.at(i)
		if s.in.meter.exhausted() || best != nil && (n >= b.effort.tried || best.ratio() >= c.bound*near) {
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

// take opens the pattern as often as the copies left, budgets and supplies allow, and with copies that are alike as long as
// there is enough left for it to be good still.
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
