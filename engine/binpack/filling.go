package binpack

import "slices"

// A builder makes patterns.
type builder struct {
	in         *instance
	demand     *demand
	candidates *candidates
	pricing    *pricing
	effort     effort
	patterns   int // made so far
	looked     int // how many item types they looked at
	scratch    *scratch
}

// An effort is how much is tried for each bin.
type effort struct {
	stars  int     // how many item types a pattern is built around before one is chosen
	tried  int     // how many candidates are filled before one is chosen
	orders []order // in which they are filled
	sample int     // about how many item types one pattern looks at
	sparse bool    // bins hold few copies, and what shares a bin with what is all that matters
}

// Scratch is memory that is used again for each pattern.
type scratch struct {
	open, trade, matched []*itemType
	scores               []float64
	free                 []int64
	left                 []float64 // free, for matching
	inverse              []float64 // one over the whole capacity, by dimension
	load                 *load
	refused              []int // see filling
}

func newBuilder(in *instance, d *demand, c *candidates, p *pricing) *builder {
	n := in.problem.Dimensions
	return &builder{in: in, demand: d, candidates: c, pricing: p, scratch: &scratch{
		free: make([]int64, n), left: make([]float64, n), inverse: make([]float64, n),
		load: newLoad(in.problem.Groups), refused: make([]int, d.classes),
	}}
}

// A filling is a pattern under construction.
type filling struct {
	*builder
	pattern   pattern
	candidate *candidate
	free      []int64
	held      []int       // shared demands of the items and of the bin type, which free is without
	open      []*itemType // that may go in, most value first
	// refused has for each conflict class that what is there does not admit the number of this pattern. What is there only
	// grows, so that a class once refused stays refused.
	refused []int
}

// build fills a bin of the candidate with one copy of star and then in the given order. It returns nil if no copy went in.
func (b *builder) build(c *candidate, star *itemType, fill order) *pattern {
	b.patterns++
	f := &filling{builder: b, candidate: c, refused: b.scratch.refused}
	t := &c.catalog.types[c.typ]
	f.pattern.catalog, f.pattern.typ = c.catalog, c.typ
	f.free = append(b.scratch.free[:0], t.Capacity...)
	f.held = t.Includes
	b.scratch.load.reset(t.Preload)
	f.open = b.sample(c)
	b.looked += len(f.open) + 8
	b.in.meter.spend(len(f.open) + 8)
	star.used = 0
	if !f.fits(star) || f.add(star, 1) == 0 {
		return nil
	}
	f.pattern.fee = b.pricing.fee
	f.pattern.price = f.pattern.offers.price[c.typ] + b.pricing.fee
	fill(f)
	f.pattern.price = f.pattern.offers.price[c.typ] + b.pricing.fee
	p := f.pattern
	return &p
}

// sample returns the item types that this pattern looks at: all that the candidate holds, or of many an even sample, another
// one for each pattern. Among so many, something always fits.
func (b *builder) sample(c *candidate) []*itemType {
	out := b.scratch.open[:0]
	byValue := b.demand.byValue
	stride := 1 + len(byValue)/b.effort.sample
	for i := (b.patterns - 1) % stride; i < len(byValue); i += stride {
		t := byValue[i]
		if t.left == 0 {
			continue
		}
		if on := &t.fit.on[c.catalog.index]; on.offers != nil && on.types.Has(c.typ) {
			t.used = 0
			out = append(out, t)
		}
	}
	b.scratch.open = out
	return out
}

// fits reports whether one more copy of t has room.
func (f *filling) fits(t *itemType) bool {
	if t.used >= t.left {
		return false
	}
	for d, v := range t.demand {
		if v > f.free[d] {
			return false
		}
	}
	return len(t.shared) == 0 || f.in.shared.fit(without(t.shared, f.held), t.demand, f.free)
}

// room returns how many more copies of t have room.
func (f *filling) room(t *itemType) int {
	if len(t.shared) == 0 {
		return copiesThatFit(t.demand, f.free, t.left-t.used)
	}
	return f.in.shared.copies(t.demand, f.free, without(t.shared, f.held), t.left-t.used)
}

// hold takes the shared demands of t into the pattern.
func (f *filling) hold(t *itemType) {
	if fresh := without(t.shared, f.held); len(fresh) > 0 {
		f.in.shared.take(fresh, f.free, 1)
		f.held = union(f.held, fresh)
	}
	f.pattern.shared = union(f.pattern.shared, t.shared)
}

// closed reports whether what is there admits no copy of t.
func (f *filling) closed(t *itemType) bool {
	for i := range t.classes {
		if f.refused[t.classes[i].number] != f.patterns {
			return false
		}
	}
	return true
}

// add puts at most n copies of t in and returns how many. It narrows the pattern's offers to those that t may use as well. A
// type that would make the bin dearer by more than its copies are worth stays out.
func (f *filling) add(t *itemType, n int) int {
	p := &f.pattern
	own := t.fit.on[p.catalog.index].offers
	offers := own
	if p.offers != nil && p.offers != own {
		if offers = p.catalog.meet(p.offers, own); offers == nil {
			return 0
		}
		before, after := p.offers.price[p.typ], offers.price[p.typ]
		if after > infinite || after-before > float64(t.value*float64(n)) {
			return 0
		}
	}
	if len(offers.distinct) > 0 && !f.in.options.RelaxDistinct {
		if n = f.keepDistinct(offers, t, n); n == 0 {
			return 0
		}
	}
	added := f.addItems(t, n)
	if added > 0 {
		p.offers = offers
		t.used += added
		subtract(f.free, t.demand, added)
		if len(t.shared) > 0 {
			f.hold(t)
		}
		p.value += float64(t.value * float64(added))
	}
	return added
}

// addItems puts at most n copies of items of t in, class by class.
func (f *filling) addItems(t *itemType, n int) int {
	added := 0
	for i := range t.classes {
		c := &t.classes[i]
		if f.refused[c.number] == f.patterns {
			continue
		}
		for _, it := range c.open() {
			m := it.left
			if it.stamp == f.patterns {
				m -= it.inPattern
			}
			if m == 0 {
				continue
			}
			got := f.put(t, c, it, min(m, n-added))
			if added += got; got == 0 || added == n {
				break // an item that is refused has its whole class refused
			}
		}
		if added == n {
			break
		}
	}
	return added
}

// put adds up to n copies of the item, as many as its bounds and those of what is there admit.
func (f *filling) put(t *itemType, c *itemClass, it *item, n int) int {
	if it.social() {
		f.in.meter.spend(1)
		if n = f.scratch.load.admits(it.Item, n); n == 0 {
			f.refused[c.number] = f.patterns
			return 0
		}
		f.scratch.load.add(it.Item, n)
	}
	if it.stamp == f.patterns {
		it.inPattern += n
		f.pattern.parts[it.part].n += n
		return n
	}
	it.stamp, it.inPattern, it.part = f.patterns, n, len(f.pattern.parts)
	f.pattern.parts = append(f.pattern.parts, part{item: it, typ: t, class: c, n: n})
	return n
}

// keepDistinct returns the largest of n, n/2, n/4, ... copies of t with which the bin keeps as many options as the Distinct
// conditions of the offers call for.
func (f *filling) keepDistinct(offers *offerSet, t *itemType, n int) int {
	p := &f.pattern
	typ := &p.catalog.types[p.typ]
	for ; n > 0; n /= 2 {
		used := slices.Clone(typ.Capacity)
		subtract(used, f.free, 1)
		f.in.shared.take(without(p.shared, typ.Includes), used, 1)
		subtract(used, t.demand, -n)
		options := p.catalog.lookup.Options(offers.id, used, union(p.shared, t.shared), typ.Supply, nil)
		if offers.satisfied(p.catalog.affordable(options.Types)) {
			return n
		}
	}
	return 0
}
