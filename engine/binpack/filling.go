package binpack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// An effort is how much work the search spends on each pattern that it opens.
type effort struct {
	anchors       int     // how many anchors are tried, more if none has a pattern. A pattern is built around the item type anchor
	maxCandidates int     // the number of candidates after which bestAround stops, once it has a pattern
	orders        []order // the rules for filling a bin; each gives a pattern per anchor and candidate
	maxSampled    int     // the largest number of item types considered for one pattern, besides the anchor
	sparse        bool    // the problem is sparse (search.isSparse), so package sparse packs all copies again
}

// A builder builds the patterns of one search, one after another. The fields from candidate on describe the current pattern.
type builder struct {
	in        *instance
	items     *itemSet
	effort    effort
	patterns  int // the number of patterns built so far; also the number of the current pattern, from 1
	work      int // work done: for each pattern, 8 plus the number of item types considered; improve starts it again at 0
	candidate *candidate
	pattern   pattern
	free      []int64     // the free capacity by dimension
	addable   []*itemType // the item types to add, by falling value
	// refused[k] equals patterns if no further copy of conflict class k can be added to the current pattern. Adding copies of
	// other classes does not change that.
	refused   []int
	conflicts conflictState
	matching  matching
}

func newBuilder(in *instance, items *itemSet) *builder {
	n := in.problem.Dimensions
	return &builder{
		in: in, items: items, refused: make([]int, items.classes), conflicts: conflictState{counters: make([]counter, in.problem.Groups)},
		matching: matching{scaledFree: make([]float64, n), inverse: make([]float64, n)},
	}
}

// build returns a pattern in a bin of the candidate: one copy of the item type anchor, then the copies that the rule fill
// adds, improved by polish unless the problem is sparse. It returns nil if no copy of anchor can be added to an empty bin.
func (b *builder) build(c *candidate, anchor *itemType, fill order) *pattern {
	b.patterns++
	b.conflicts.bin = b.patterns
	b.candidate, b.pattern = c, pattern{catalog: c.catalog, typ: c.typ, fee: c.fee}
	b.free = append(b.free[:0], c.catalog.types[c.typ].Capacity...)
	b.sample(c)
	b.work += len(b.addable) + 8
	anchor.used = 0
	if !b.fits(anchor) || b.add(anchor, 1) == 0 {
		return nil
	}
	fill(b)
	if !b.effort.sparse {
		b.polish()
	}
	p := b.pattern
	return &p
}

// sample sets addable to the item types to consider for this pattern, by falling value: those that may use the candidate. If
// byValue has effort.maxSampled elements or more, it takes only every n-th one, so that there are at most effort.maxSampled. The
// first one differs from pattern to pattern.
func (b *builder) sample(c *candidate) {
	b.addable = b.addable[:0]
	byValue := b.items.byValue
	stride := 1 + len(byValue)/b.effort.maxSampled
	for i := (b.patterns - 1) % stride; i < len(byValue); i += stride {
		t := byValue[i]
		if t.left == 0 {
			continue
		}
		if on := &t.fit[c.catalog.index]; on.offers != nil && on.types.Has(c.typ) {
			t.used = 0
			b.addable = append(b.addable, t)
		}
	}
}

// fits reports whether another copy of t remains and the free capacity holds it.
func (b *builder) fits(t *itemType) bool {
	if t.used >= t.left {
		return false
	}
	for d, v := range t.demand {
		if v > 0 && v > b.free[d] {
			return false
		}
	}
	return true
}

// room returns how many more copies of t the free capacity holds, at most the number of remaining copies.
func (b *builder) room(t *itemType) int { return vector.Copies(t.demand, b.free, t.left-t.used) }

// refusesClasses reports whether the pattern can take no further copy of t, because b.refused excludes the conflict class
// of each of its items. Items of one conflict class have equal counts and bounds.
func (b *builder) refusesClasses(t *itemType) bool {
	for i := range t.classes {
		if b.refused[t.classes[i].number] != b.patterns {
			return false
		}
	}
	return true
}

// add adds at most n copies of t and returns how many it added. Bounds and Distinct conditions can lower the number. It
// narrows the pattern's offers to those that t may use. It adds none if no offer of the bin type is left, or if the bin's
// price rises by more than the value of n copies.
func (b *builder) add(t *itemType, n int) int {
	p := &b.pattern
	own := t.fit[p.catalog.index].offers
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
	if len(offers.distinct) > 0 && !b.in.options.RelaxDistinct {
		if n = b.keepDistinct(offers, t, n); n == 0 {
			return 0
		}
	}
	added := b.addItems(t, n)
	if added > 0 {
		p.offers = offers
		t.used += added
		vector.Subtract(b.free, t.demand, added)
		p.value += float64(t.value * float64(added))
	}
	return added
}

// addItems adds at most n copies of the items of t to the parts, class by class. It returns how many it added.
func (b *builder) addItems(t *itemType, n int) int {
	added := 0
	for i := range t.classes {
		c := &t.classes[i]
		if b.refused[c.number] == b.patterns {
			continue
		}
		for _, it := range c.remaining() {
			m := it.left
			if it.stamp == b.patterns {
				m -= b.pattern.parts[it.part].n
			}
			if m == 0 {
				continue
			}
			got := b.put(it, min(m, n-added))
			if added += got; got == 0 || added == n {
				break // the class is refused, or n copies are added
			}
		}
		if added == n {
			break
		}
	}
	return added
}

// put adds at most n copies of the item to the parts, as bounds allow. It returns how many it added.
func (b *builder) put(it *item, n int) int {
	if it.hasConflicts() {
		if n = b.conflicts.admits(it.Item, n); n == 0 {
			b.refused[it.conflictClass] = b.patterns
			return 0
		}
		b.conflicts.add(it.Item, n)
	}
	if it.stamp == b.patterns {
		b.pattern.parts[it.part].n += n
		return n
	}
	it.stamp, it.part = b.patterns, len(b.pattern.parts)
	b.pattern.parts = append(b.pattern.parts, part{it, n})
	return n
}

// keepDistinct returns the largest of n, n/2, n/4, ... such that the bin with that many more copies of t has enough
// option types to meet the Distinct conditions of offers. It returns 0 if there is none.
func (b *builder) keepDistinct(offers *offerSet, t *itemType, n int) int {
	p := &b.pattern
	typ, allowed := &p.catalog.types[p.typ], append(p.allowed(), t.fit[p.catalog.index].types)
	for ; n > 0; n /= 2 {
		used := slices.Clone(typ.Capacity)
		vector.Subtract(used, b.free, 1)
		vector.Subtract(used, t.demand, -n)
		options := p.catalog.Options(offers.id, used, typ.Supply, allowed...)
		if offers.satisfied(p.catalog.affordable(options.Types)) {
			return n
		}
	}
	return 0
}
