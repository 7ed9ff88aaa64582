package binpack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const (
	// maxTogether is how many copies two bins may hold for every way of dividing them to be tried.
	maxTogether = 8
	// maxDivisions is how many ways are tried in all.
	maxDivisions = 100_000
)

// recombine divides the copies of two bins anew between two bins wherever that is cheaper, the most wasteful bins first. It is
// for bins that hold few copies each, where no order of filling finds what fits together.
func (s *search) recombine(bins []*pattern) []*pattern {
	r := recombiner{dimensions: s.in.problem.Dimensions, budget: s.in.options.Effort * maxDivisions, byPrice: map[*offerSet][]int{}}
	var small []*pattern
	out := bins[:0:0]
	for _, p := range bins {
		if p.copies() <= maxTogether/2 && p.simple() {
			small = append(small, p)
		} else {
			out = append(out, p)
		}
	}
	if len(small) < 2 {
		return bins
	}
	for _, p := range small {
		p.weigh()
	}
	slices.SortStableFunc(small, func(a, b *pattern) int { return cmp.Compare(b.waste*b.price, a.waste*a.price) })
	for gained := true; gained && r.budget > 0 && !s.in.meter.exhausted(); {
		gained = r.sweep(small)
	}
	s.in.meter.spend(s.in.options.Effort*maxDivisions - r.budget)
	return append(out, small...)
}

// A recombiner is recombine at work.
type recombiner struct {
	dimensions int
	budget     int
	byPrice    map[*offerSet][]int // types that are worth considering, cheapest first
	copies     []part              // of both bins, each alone
	sum        []int64
}

// simple reports whether the pattern's copies all go to the same bin types and have no conflicts.
func (p *pattern) simple() bool {
	return len(p.offers.distinct) == 0 && !slices.ContainsFunc(p.parts, func(x part) bool {
		return x.item.social() || x.item.Restricted || len(x.typ.shared) > 0 || x.typ.fit.on[p.catalog.index].offers != p.offers
	})
}

// sweep tries all pairs once. It returns whether one became cheaper.
func (r *recombiner) sweep(bins []*pattern) bool {
	gained := false
	for i := 0; i < len(bins) && r.budget > 0; i++ {
		for j := i + 1; j < len(bins) && r.budget > 0; j++ {
			if bins[i].offers != bins[j].offers {
				continue
			}
			if a, b := r.divide(bins[i], bins[j]); a != nil {
				bins[i], bins[j] = a, b
				gained = true
			}
		}
	}
	return gained
}

// types returns the types of the pattern's offers, cheapest first, without those that a cheaper one makes pointless.
func (r *recombiner) types(p *pattern) []int {
	if list, ok := r.byPrice[p.offers]; ok {
		return list
	}
	all := p.catalog.types
	var kept []int
	for _, j := range p.offers.cheapestFirst() {
		if !slices.ContainsFunc(kept, func(k int) bool { return fitsIn(all[j].Capacity, all[k].Capacity) }) {
			kept = append(kept, j)
		}
	}
	r.byPrice[p.offers] = kept
	return kept
}

// divide returns two bins, cheaper together, with the copies of a and b; nil if there are none.
func (r *recombiner) divide(a, b *pattern) (x, y *pattern) {
	r.copies = r.copies[:0]
	for _, p := range [...]*pattern{a, b} {
		for _, one := range p.parts {
			n := one.n
			for one.n = 1; n > 0; n-- {
				r.copies = append(r.copies, one)
			}
		}
	}
	n := len(r.copies)
	if n < 3 {
		return nil, nil
	}
	list := r.types(a)
	total, best := 0.0, (a.price+b.price-a.fee-b.fee)*(1-same)
	for _, u := range r.copies {
		total += u.typ.base
	}
	var sides, types [2]int
	for side := 1; side < 1<<(n-1); side++ { // the last copy stays on the other side
		r.budget--
		one, price := r.cheapest(a, list, side, best)
		if one < 0 || price+total-r.value(side) >= best {
			continue
		}
		other, rest := r.cheapest(a, list, 1<<n-1-side, best-price)
		if other >= 0 && price+rest < best {
			best, sides, types = price+rest, [2]int{side, 1<<n - 1 - side}, [2]int{one, other}
		}
	}
	if sides[0] == 0 {
		return nil, nil
	}
	return r.pattern(a, sides[0], types[0]), r.pattern(a, sides[1], types[1])
}

// value sums the value of the copies of a side, given as bits.
func (r *recombiner) value(side int) float64 {
	sum := 0.0
	for ; side != 0; side &= side - 1 {
		sum += r.copies[bits.TrailingZeros(uint(side))].typ.base
	}
	return sum
}

// cheapest returns the first of list that holds a side for less than limit, -1 if none does.
func (r *recombiner) cheapest(p *pattern, list []int, side int, limit float64) (int, float64) {
	demand := r.demand(side)
	for _, j := range list {
		price := p.offers.price[j]
		if price >= limit {
			break
		}
		if fitsIn(demand, p.catalog.types[j].Capacity) {
			return j, price
		}
	}
	return -1, math.Inf(1)
}

func (r *recombiner) demand(side int) []int64 {
	r.sum = slices.Grow(r.sum[:0], r.dimensions)[:r.dimensions]
	clear(r.sum)
	for ; side != 0; side &= side - 1 {
		subtract(r.sum, r.copies[bits.TrailingZeros(uint(side))].item.Demand, -1)
	}
	return r.sum
}

// pattern returns a pattern like p with the copies of a side.
func (r *recombiner) pattern(p *pattern, side, typ int) *pattern {
	out := &pattern{catalog: p.catalog, typ: typ, offers: p.offers, fee: p.fee, price: p.offers.price[typ] + p.fee}
	for ; side != 0; side &= side - 1 {
		u := r.copies[bits.TrailingZeros(uint(side))]
		if i := slices.IndexFunc(out.parts, func(x part) bool { return x.item == u.item }); i >= 0 {
			out.parts[i].n++
		} else {
			out.parts = append(out.parts, u)
		}
	}
	out.weigh()
	return out
}
