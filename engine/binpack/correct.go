package binpack

const (
	// corrections is how often a sparse problem is packed anew, correction how far values move each time towards what copies
	// really cost, and overvalue how much more than it costs a bin may hold by such values.
	corrections = 4
	correction  = 0.2
	overvalue   = 1.03
	// maxCorrected bounds the corrections: how many item types all patterns may look at. A problem of which they look at
	// maxThorough or less is corrected even where column generation found something: it costs next to nothing then.
	maxCorrected = 8_000_000
	maxThorough  = 500_000
)

// correct looks for cheaper bins for a sparse problem, by column generation and by values corrected by what copies really cost.
// It returns bins that are packed.
func (s *search) correct(bins []*pattern) []*pattern {
	b, effort := s.builder, s.in.options.Effort
	if !b.effort.sparse || effort < 0 || s.in.limited() || s.demand.unpacked() {
		return bins
	}
	s.rebase()
	each := max(b.looked, 1) // by one construction
	for _, p := range bins {
		p.move(-1)
	}
	best := s.generateColumns(bins)
	if best == nil || each*corrections <= maxThorough {
		best = s.repack(bins, best, min(effort*corrections, effort*maxCorrected/each))
	}
	for _, p := range best {
		p.move(1)
	}
	b.effort = s.usualEffort() // what follows is about a few bins at a time
	return best
}

// rebase goes back to the values that were found first, when all was still to be packed. By them all bins compare.
func (s *search) rebase() {
	for _, t := range s.demand.types {
		t.value = t.base
	}
	for _, c := range s.candidates.list {
		c.best, c.value = c.first, dot(c.first, c.capacity)
	}
}

// repack packs a sparse problem anew, a few times, at values that were corrected by what copies really cost: a copy in a bin
// that is badly filled is hard to place, and is worth more than what it takes of the bin. It returns the cheapest bins, which
// may be the incumbent or, if that is nil, the given ones. No copy is packed before and after. This is sequential value
// correction (Belov and Scheithauer 2007).
func (s *search) repack(bins, incumbent []*pattern, times int) []*pattern {
	s.builder.effort.ceiling = near * overvalue
	if incumbent == nil {
		incumbent = bins
	}
	least := costOf(incumbent)
	for range times {
		s.revalue(bins)
		s.demand.rank()
		s.candidates.rank(s.pricing.fee)
		bins = s.open(false)
		if cost := costOf(bins); cost < least*(1-same) && !s.demand.unpacked() {
			incumbent, least = bins, cost
		}
		for _, p := range bins {
			p.move(-1)
		}
		if s.in.meter.exhausted() {
			break
		}
	}
	return incumbent
}

// revalue moves the value of each item type towards what its copies cost in these bins, if the price of a bin is divided among
// its copies by value.
func (s *search) revalue(bins []*pattern) {
	types := s.demand.types
	paid, copies := make([]float64, len(types)), make([]int, len(types))
	for _, p := range bins {
		held := 0.0
		for _, x := range p.parts {
			held += float64(x.typ.value * float64(x.n))
		}
		for _, x := range p.parts {
			paid[x.typ.index] += float64(x.typ.value*float64(x.n)) * p.price / held
			copies[x.typ.index] += x.n
		}
	}
	for i, t := range types {
		if n := copies[i]; n > 0 {
			t.value += float64(correction * (paid[i]/float64(n) - t.value))
		}
		t.stuck = false
	}
}
