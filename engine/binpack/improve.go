package binpack

import "slices"

const (
	// maxAttempts is how often bins are closed and opened again, maxLooked how many item types the patterns made for that may
	// look at, and patience how many attempts in a row may fail.
	maxAttempts = 220
	maxLooked   = 22_000
	patience    = 16
	// rivals is how many bins are drawn for each one that is closed. It is the most wasteful of them.
	rivals = 4
)

// ruinSizes are how many bins are closed at once, in turn.
var ruinSizes = [...]int{3, 5, 2, 8, 4, 12, 3, 6}

// improve looks for cheaper bins by ruin and recreate (Schrimpf et al. 2000): it closes a few bins, mostly those that hold
// least value for their price, packs their copies in ways that differ from attempt to attempt, and keeps what is cheaper.
// With budgets or bounded supplies it does nothing: what is opened first was chosen with care there.
func (s *search) improve(bins []*pattern) []*pattern {
	effort := s.in.options.Effort
	if len(bins) < 2 || effort < 0 || s.in.limited() || s.demand.unpacked() || s.in.meter.exhausted() {
		return bins
	}
	s.rebase()
	for _, p := range bins {
		p.weigh()
	}
	if s.demand.groups > 1 {
		effort *= 2 // prices of several groups guide the construction less well
	}
	r := ruiner{search: s, bins: bins, seed: 0x9e3779b97f4a7c15}
	s.builder.looked = 0
	last := 0 // the attempt that was kept last
	for n := 0; n < effort*maxAttempts && s.builder.looked < effort*maxLooked && len(r.bins) > 1; n++ {
		if n-last > effort*patience || s.in.meter.exhausted() {
			break
		}
		if r.attempt(n) {
			last = n
		}
	}
	return r.bins
}

// A ruiner closes and opens bins.
type ruiner struct {
	search *search
	bins   []*pattern
	seed   uint64
	picked []int
}

// attempt closes some bins and packs their copies again. It returns false if that was not cheaper, and then nothing has changed.
func (r *ruiner) attempt(n int) bool {
	r.seed = r.seed*6364136223846793005 + 1442695040888963407
	picked := r.pick(ruinSizes[n%len(ruinSizes)], r.seed>>33)
	before := 0.0
	for _, i := range picked {
		before += r.bins[i].price
		r.bins[i].move(-1)
	}
	r.disturb(n)
	fresh := r.search.open(false)
	after := 0.0
	for _, p := range fresh {
		after += p.price
		p.weigh()
	}
	whole := !slices.ContainsFunc(r.search.demand.byValue, func(t *itemType) bool { return t.left > 0 })
	if whole && (after < before*(1-same) || after <= before*(1+same) && len(fresh) < len(picked)) {
		r.bins = append(remove(r.bins, picked), fresh...)
		return true
	}
	for _, p := range fresh {
		p.move(-1)
	}
	for _, i := range picked {
		r.bins[i].move(1)
	}
	return false
}

// disturb ranks the item types that have copies left by values that differ a little from attempt to attempt, so that the same
// copies are put together in other ways.
func (r *ruiner) disturb(attempt int) {
	s, seed := r.search, r.seed
	s.demand.rank()
	s.candidates.rank(s.pricing.fee)
	if attempt%4 == 0 {
		return
	}
	for _, t := range s.demand.byValue {
		seed = seed*2862933555777941757 + 3037000493
		t.value = t.base * (0.9 + 0.2*float64(seed>>40&1023)/1024)
	}
	s.demand.rank()
}

// pick returns which n bins to close, in order, in memory that the next call uses again.
func (r *ruiner) pick(n int, seed uint64) []int {
	picked := r.picked[:0]
	for range min(n, len(r.bins)) {
		best := -1
		for range rivals {
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

// remove takes the bins with these numbers, which are in order, out of the list.
func remove(bins []*pattern, numbers []int) []*pattern {
	next := 0
	kept := bins[:0]
	for i, p := range bins {
		if next < len(numbers) && numbers[next] == i {
			next++
			continue
		}
		kept = append(kept, p)
	}
	return kept
}
