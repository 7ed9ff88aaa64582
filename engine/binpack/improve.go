package binpack

import "slices"

const (
	// maxAttempts is the largest number of attempts to replace bins. improve starts no attempt after the work of all
	// attempts (builder.work) reaches maxWork, or after patience attempts in a row failed. The first attempt of all does
	// not count as failed.
	maxAttempts = 220
	maxWork     = 22_000
	patience    = 16
	// With several price groups these three limits are multiplied by groupEffort. If some bin type is Paid, they are
	// multiplied by paidEffort instead: dual prices do not say which copies should use the supply.
	groupEffort = 2
	paidEffort  = 10
	// tournamentSize is the number of bins that pick draws at random for each bin to close. It takes the one with the highest waste.
	tournamentSize = 4
)

// paidPatterns is the effort per pattern of improve if some bin type is Paid. Many attempts with few patterns each then find more
// than few attempts with many patterns.
var paidPatterns = effort{anchors: 1, maxCandidates: 2, orders: orders[:1], maxSampled: usualSample}

// ruinSizes are the numbers of bins that successive attempts close, cyclically.
var ruinSizes = [...]int{3, 5, 2, 8, 4, 12, 3, 6}

// improve replaces bins by cheaper ones by ruin and recreate (Schrimpf et al. 2000), and returns all bins. Each attempt
// closes a few bins, mostly with high waste, and packs their copies again. Three of four attempts do so with slightly
// different values. The new bins are kept if they hold all these copies and are cheaper, or as cheap and fewer. improve
// does nothing if there are fewer than two bins, if Options.Fast is set, if a candidate has a budget or a supply that is not
// Paid, or if copies remain.
func (s *search) improve(bins []*pattern) []*pattern {
	if len(bins) < 2 || s.in.options.Fast || s.candidates.limitedUnpaid() || s.items.hasRemaining() {
		return bins
	}
	s.resetValues()
	for _, p := range bins {
		p.computeWaste()
	}
	r := improver{search: s, bins: bins, seed: 0x9e3779b97f4a7c15}
	s.builder.work = 0
	effort := 1
	if s.items.groups > 1 {
		effort = groupEffort
	}
	if hasPaid(s.in.problem) {
		effort = paidEffort
		s.builder.effort = paidPatterns
	}
	last := 0 // the number of the last successful attempt
	for n := 0; n < maxAttempts*effort && s.builder.work < maxWork*effort && len(r.bins) > 1; n++ {
		if n-last > patience*effort {
			break
		}
		if r.attempt(n) {
			last = n
		}
	}
	return r.bins
}

// An improver is the state of improve: the current bins, the state of the random numbers, and memory for pick.
type improver struct {
	search *search
	bins   []*pattern
	seed   uint64
	picked []int
}

// attempt closes some bins and packs their copies again. It returns true if the new bins are better. Otherwise it
// restores the closed bins.
func (r *improver) attempt(n int) bool {
	r.seed = r.seed*6364136223846793005 + 1442695040888963407
	picked := r.pick(ruinSizes[n%len(ruinSizes)], r.seed>>33)
	before := 0.0
	for _, i := range picked {
		before += r.bins[i].price()
		r.bins[i].close()
	}
	r.perturb(n)
	fresh := r.search.openBins()
	after := 0.0
	for _, p := range fresh {
		after += p.price()
		p.computeWaste()
	}
	whole := !slices.ContainsFunc(r.search.items.byValue, func(t *itemType) bool { return t.left > 0 })
	if whole && (after < before*(1-same) || after <= before*(1+same) && len(fresh) < len(picked)) {
		for _, i := range slices.Backward(picked) {
			r.bins = slices.Delete(r.bins, i, i+1)
		}
		r.bins = append(r.bins, fresh...)
		return true
	}
	for _, p := range fresh {
		p.close()
	}
	for _, i := range picked {
		r.bins[i].open(1)
	}
	return false
}

// perturb sorts the item types with remaining copies by values that differ from the initial ones at random, by at most
// 10%. So attempts combine the same copies differently. Every fourth attempt, from the first, sorts by the values that
// earlier attempts left.
func (r *improver) perturb(attempt int) {
	s, seed := r.search, r.seed
	s.items.resetByValue()
	if attempt%4 == 0 {
		return
	}
	for _, t := range s.items.byValue {
		seed = seed*2862933555777941757 + 3037000493
		t.value = t.initialValue * (0.9 + 0.2*float64(seed>>40&1023)/1024)
	}
	s.items.resetByValue()
}

// pick returns the indices of n bins to close, all bins if there are fewer, in rising order. The next call overwrites the
// result.
func (r *improver) pick(n int, seed uint64) []int {
	picked := r.picked[:0]
	for range min(n, len(r.bins)) {
		best := -1
		for range tournamentSize {
			seed = seed*2862933555777941757 + 3037000493
			i := int((seed >> 33) % uint64(len(r.bins)))
			for slices.Contains(picked, i) {
				i = (i + 1) % len(r.bins)
			}
			if best < 0 || r.bins[i].waste > r.bins[best].waste {
				best = i
			}
		}
		picked = append(picked, best)
	}
	slices.Sort(picked)
	r.picked = picked
	return picked
}
