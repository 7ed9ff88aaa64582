package binpack

import (
	"math"
	"slices"
)

// A search is the state of the packing of some items by construction, package sparse and improvement.
type search struct {
	in         *instance
	items      *itemSet
	candidates *candidates
	pricing    *pricing
	builder    *builder
}

// newSearch returns a search for the items. It returns nil if there are no items.
func newSearch(in *instance, items []*item) *search {
	if len(items) == 0 {
		return nil
	}
	s := &search{in: in, items: newItemSet(in, items, scarceCardinalities(items))}
	s.candidates = newCandidates(in, s.items)
	s.pricing = newPricing(in, s.items, s.candidates)
	s.builder = newBuilder(in, s.items)
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
	case slices.ContainsFunc(s.items.scarce, func(c cardinality) bool { return c.bins >= manyBins }):
		return effort{anchors: 1, maxCandidates: 1, orders: orders[:1], maxSampled: usualSample}
	case s.isSparse() && len(s.limitingDimensions()) == 2:
		return effort{anchors: 1, maxCandidates: 6, orders: []order{byValue}, maxSampled: maxSample, sparse: true}
	}
	return s.usualEffort()
}

func (s *search) usualEffort() effort {
	return effort{anchors: 2, maxCandidates: max(4, min(10, 4000/len(s.items.types))), orders: orders[:], maxSampled: usualSample}
}

// isSparse reports whether there are at least minCopies copies and bins are expected to hold at most fewCopies copies. The
// expected number is the value of the bin type with the highest maxRatio, divided by the mean value of a copy. isSparse is
// true only if all item types use the same offers, without counts, bounds or Distinct conditions.
func (s *search) isSparse() bool {
	copies, types := 0, s.items.types
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
	return copies >= minCopies && len(list) > 0 && list[0].value*float64(copies) <= fewCopies*s.items.total
}

// construct updates the dual prices, and keeps the values of item types and candidates as the initial ones. It then opens
// bins until no more copies can be packed, and returns their patterns. doc.go describes the method.
func (s *search) construct() []*pattern {
	if !s.pricing.update() {
		return nil
	}
	for _, t := range s.items.types {
		t.initialValue = t.value
	}
	for _, c := range s.candidates.list {
		c.initialValue = c.value
	}
	return s.openAndReprice()
}

const (
	// Dual prices are updated when the value of the remaining copies falls below repriceShare of that at the last update.
	repriceShare = 0.95
	// If the ratio of the best pattern is below poorRatio, dual prices are updated before a bin is opened, unless no
	// copies were packed since the last update.
	poorRatio = 0.985
	// takeShare is the largest share of the value of the remaining copies in the bins that one pattern opens, see openPattern.
	takeShare = 0.1
)

// openAndReprice opens the pattern that best returns, until there is none, and returns the patterns of all opened bins. It updates
// the dual prices as repriceShare and poorRatio say. With one price group and no scarce cardinality, it opens few bins before it
// chooses the next pattern, see takeShare.
func (s *search) openAndReprice() []*pattern {
	var bins []*pattern
	items, share := s.items, math.Inf(1)
	if items.groups == 1 && len(items.scarce) == 0 {
		share = takeShare
	}
	for {
		best := s.best()
		if best != nil && best.ratio() < poorRatio && items.total < s.pricing.totalAtUpdate*(1-same) {
			if !s.pricing.update() {
				return bins
			}
			best = s.best()
		}
		if best == nil {
			return bins
		}
		bins = append(bins, s.openPattern(best, share)...)
		if items.sumValue(); items.total <= 0 {
			return bins
		}
		if items.total < repriceShare*s.pricing.totalAtUpdate && !s.pricing.update() {
			return bins
		}
	}
}

// openBins is openAndReprice without changes of the dual prices, as often as possible for each pattern.
func (s *search) openBins() []*pattern {
	var bins []*pattern
	for best := s.best(); best != nil; best = s.best() {
		bins = append(bins, s.openPattern(best, math.Inf(1))...)
		if s.items.sumValue(); s.items.total <= 0 {
			break
		}
	}
	return bins
}

// From one anchor (see effort.anchors) to the next, best skips len(items.byValue)/anchorSpacing item types.
const anchorSpacing = 16

// best returns the pattern with the highest ratio of those that bestAround finds for effort.anchors item types: the most
// valuable one, and others spread over items.byValue (see anchorSpacing). If none of these has a pattern, best tries the
// other item types. It returns nil if no item type has a pattern.
func (s *search) best() *pattern {
	if p := s.bestOf(1 + len(s.items.byValue)/anchorSpacing); p != nil {
		return p
	}
	return s.bestOf(1)
}

// bestOf is best for each spacing-th item type: after one that it tries, it skips spacing-1 others.
func (s *search) bestOf(spacing int) *pattern {
	var best *pattern
	anchors, next := 0, 0
	for i, t := range s.items.byValue {
		if t.left == 0 || t.noPattern || i < next {
			continue
		}
		if p := s.bestAround(t); p == nil {
			t.noPattern = true
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
// stops after effort.maxCandidates bin types that can hold such a copy, or when no other bin type can be much better (see
// nearBound). It continues while no pattern was built, and returns nil if no bin type gives one.
func (s *search) bestAround(anchor *itemType) *pattern {
	b := s.builder
	var best *pattern
	n := 0
	for c, bound := range s.candidates.byBound(s.items.total) {
		if best != nil && (n >= b.effort.maxCandidates || best.ratio() >= bound*nearBound) {
			break
		}
		if on := &anchor.fit[c.catalog.index]; on.offers == nil || !on.types.Has(c.typ) || c.catalog.exhausted(c.typ) {
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
	if best != nil && c.catalog.types[c.typ].Paid && best.value < fullShare*min(c.value, s.items.total) {
		try(byDirection)
	}
	return best
}

// openPattern changes p to a cheaper bin type if possible (see resize), and opens it as often as copies, budgets and supplies
// allow. The bins hold at most share of the value of the remaining copies, unless one bin holds more. openPattern returns p once
// for each opened bin.
func (s *search) openPattern(p *pattern, share float64) []*pattern {
	p.resize()
	p.setCharge(s.in.options.RelaxDistinct)
	times := int(min(p.catalog.afford(p.typ, p.charged()), math.MaxInt32))
	for _, x := range p.parts {
		times = min(times, x.item.left/x.n)
	}
	if most := share * s.items.total / p.value; most < float64(times) {
		times = max(1, int(most))
	}
	p.open(times)
	return slices.Repeat([]*pattern{p}, times)
}
