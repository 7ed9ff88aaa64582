package binpack

import (
	"math"
	"slices"
)

// A search is the state of the packing of some items by construction, package sparse and improvement.
type search struct {
	in         *instance
	demand     *demand
	candidates *candidates
	pricing    *pricing
	builder    *builder
}

// newSearch returns a search for the items. It returns nil if there are no items.
func newSearch(in *instance, items []*item) *search {
	if len(items) == 0 {
		return nil
	}
	s := &search{in: in, demand: newDemand(in, items, scarceCardinalities(items))}
	s.candidates = newCandidates(in, s.demand)
	s.pricing = newPricing(in, s.demand, s.candidates)
	s.builder = newBuilder(in, s.demand)
	s.builder.effort = s.chooseEffort()
	return s
}

const (
	// If a scarce cardinality requires at least manyBins bins, the search opens the first pattern that it finds. This
	// bounds the work, because each of the bins may need a pattern of its own.
	manyBins = 200
	// A problem is sparse if it has at least minCopies copies and bins hold about fewCopies copies or fewer, see isSparse.
	// For each pattern the search considers at most maxSample item types if the problem is sparse and exactly two
	// dimensions can limit the contents of bins. Otherwise it considers at most usualSample.
	fewCopies   = 6
	minCopies   = 100
	maxSample   = 6000
	usualSample = 600
	// bestAround stops when the best ratio is at least nearBound times the upper bound on the ratio in the next candidate.
	nearBound = 0.999
	// bestIn tries a further rule if a pattern in a Paid bin type holds less than fullShare of its upper bound.
	fullShare = 0.95
)

func (s *search) chooseEffort() effort {
	switch {
	case slices.ContainsFunc(s.demand.scarce, func(c cardinality) bool { return c.bins >= manyBins }):
		return effort{anchors: 1, tried: 1, orders: orders[:1], sample: usualSample}
	case s.isSparse() && len(s.decidingDimensions()) == 2:
		return effort{anchors: 1, tried: 6, orders: []order{byValue}, sample: maxSample, sparse: true}
	}
	return s.usualEffort()
}

func (s *search) usualEffort() effort {
	return effort{anchors: 2, tried: max(4, min(10, 4000/len(s.demand.types))), orders: orders[:], sample: usualSample}
}

// isSparse reports whether there are at least minCopies copies and bins are expected to hold at most fewCopies copies. The
// expected number is the value of the bin type with the highest maxRatio, divided by the mean value of a copy. isSparse is
// true only if all item types use the same offers, without counts, bounds or Distinct conditions.
func (s *search) isSparse() bool {
	copies, types := 0, s.demand.types
	for _, t := range types {
		copies += t.left
		if t.hasConflicts || slices.ContainsFunc(s.in.catalogs, func(c *catalog) bool {
			o := t.fit[c.index].offers
			return o != types[0].fit[c.index].offers || o != nil && len(o.distinct) > 0
		}) {
			return false
		}
	}
	list := s.candidates.list
	return copies >= minCopies && len(list) > 0 && list[0].value*float64(copies) <= fewCopies*s.demand.total
}

// construct updates the dual prices, and keeps the values of item types and candidates as the initial ones. It then opens
// bins until no more copies can be packed, and returns their patterns. doc.go describes the method.
func (s *search) construct() []*pattern {
	if !s.pricing.update() {
		return nil
	}
	for _, t := range s.demand.types {
		t.initialValue = t.value
	}
	for _, c := range s.candidates.list {
		c.initialValue = c.value
	}
	return s.open(true)
}

const (
	// Dual prices are updated when the value of the remaining copies falls below repriceShare of that at the last update.
	repriceShare = 0.95
	// If the ratio of the best pattern is below poorRatio, dual prices are updated before a bin is opened, unless no
	// copies were packed since the last update.
	poorRatio = 0.985
	// takeShare is the largest share of the value of the remaining copies in the bins that one pattern opens, see take.
	takeShare = 0.1
)

// open opens the pattern that best returns, until there is none, and returns the patterns of all opened bins. If reprice is
// true, it updates the dual prices as repriceShare and poorRatio say. With one price group and no scarce cardinality, it then
// opens few bins before it chooses the next pattern, see take.
func (s *search) open(reprice bool) []*pattern {
	var bins []*pattern
	d := s.demand
	few := reprice && d.groups == 1 && len(d.scarce) == 0
	for {
		best := s.best()
		if best == nil {
			return bins
		}
		if reprice && best.ratio() < poorRatio && d.total < s.pricing.totalAtUpdate*(1-same) {
			if !s.pricing.update() {
				return bins
			}
			if best = s.best(); best == nil {
				return bins
			}
		}
		bins = append(bins, s.take(best, few)...)
		if d.sum(); d.total <= 0 {
			return bins
		}
		if reprice && d.total < repriceShare*s.pricing.totalAtUpdate && !s.pricing.update() {
			return bins
		}
	}
}

// From one anchor (see effort.anchors) to the next, best skips len(demand.byValue)/anchorSpacing item types.
const anchorSpacing = 16

// best returns the pattern with the highest ratio of those that bestAround finds for effort.anchors item types: the most
// valuable one, and others spread over demand.byValue (see anchorSpacing). If none of these has a pattern, best tries the
// other item types. It returns nil if no item type has a pattern.
func (s *search) best() *pattern {
	if p := s.bestOf(1 + len(s.demand.byValue)/anchorSpacing); p != nil {
		return p
	}
	return s.bestOf(1)
}

// bestOf is best for each spacing-th item type: after one that it tries, it skips spacing-1 others.
func (s *search) bestOf(spacing int) *pattern {
	var best *pattern
	anchors, next := 0, 0
	for i, t := range s.demand.byValue {
		if t.left == 0 || t.stuck || i < next {
			continue
		}
		if p := s.bestAround(t); p == nil {
			t.stuck = true
		} else if p.better(best) {
			best = p
		}
		if anchors++; anchors >= s.builder.effort.anchors && best != nil {
			break
		}
		next = i + spacing
	}
	return best
}

// bestAround builds patterns with at least one copy of the item type anchor, and returns the one with the highest ratio. It
// stops after effort.tried bin types that can hold such a copy, or when no other bin type can be much better (see
// nearBound). It continues while no pattern was built, and returns nil if no bin type gives one.
func (s *search) bestAround(anchor *itemType) *pattern {
	b := s.builder
	var best *pattern
	n := 0
	for c, bound := range s.candidates.byBound(s.demand.total) {
		if best != nil && (n >= b.effort.tried || best.ratio() >= bound*nearBound) {
			break
		}
		if on := &anchor.fit[c.catalog.index]; on.offers == nil || !on.types.Has(c.typ) || c.catalog.soldOut(c.typ) {
			continue
		}
		n++
		if p := s.bestIn(c, anchor); p.better(best) {
			best = p
		}
	}
	return best
}

// bestIn returns the best of the patterns that the rules of effort.orders give in a bin of the candidate, with at least one
// copy of the item type anchor. If it holds less than fullShare of what it could, and the type is Paid, bestIn also tries
// byDirection, because the capacity of Paid types often has other proportions than the demand. bestIn returns nil if there is
// no pattern.
func (s *search) bestIn(c *candidate, anchor *itemType) *pattern {
	b := s.builder
	var best *pattern
	try := func(fill order) {
		if p := b.build(c, anchor, fill); p.better(best) {
			best = p
		}
	}
	for _, fill := range b.effort.orders {
		try(fill)
	}
	if best != nil && c.catalog.types[c.typ].Paid && best.value < fullShare*min(c.value, s.demand.total) {
		try(byDirection)
	}
	return best
}

// take changes p to a cheaper bin type if possible (see resize), and opens it as often as copies, budgets and supplies
// allow. If few is true, the bins hold at most takeShare of the value of the remaining copies, unless one bin holds more. It
// returns p once for each opened bin.
func (s *search) take(p *pattern, few bool) []*pattern {
	p.resize()
	p.setCharge(s.in.options.RelaxDistinct)
	times := int(min(p.catalog.afford(p.typ, p.charged()), math.MaxInt32))
	for _, x := range p.parts {
		times = min(times, x.item.left/x.n)
	}
	if most := takeShare * s.demand.total / p.value; few && most < float64(times) {
		times = max(1, int(most))
	}
	p.move(times)
	return slices.Repeat([]*pattern{p}, times)
}
