package binpack

import (
	"math"
	"slices"
)

// An order is a rule for filling a bin: it chooses item types and adds copies of them to the pattern.
type order func(b *builder)

// orders are the rules for all bins. effort.orders has those that a search uses.
var orders = [...]order{byShare, byValue}

// byValue adds copies of the item types by falling value, as many of each as fit and as b.add accepts.
func byValue(b *builder) {
	for _, t := range b.addable {
		if b.fits(t) {
			b.add(t, b.room(t))
		}
	}
}

// byDirection adds copies of any item types as fillByDirection chooses them, without shares by value. It uses all dimensions of
// a bin evenly. The copies that it leaves fill other bins less well, so it is not in orders.
func byDirection(b *builder) { b.fillByDirection(b.addable, math.Inf(1)) }

// byShare splits the item types, ordered by falling value, into ranges. In a range the lowest value is more than half
// the highest. Each range fills a share of the bin: its share of the total value of remaining copies. So the first bins
// do not use up the small copies that fill gaps in later ones. Within a range, fillByDirection chooses the item types. At the end
// it fills the free capacity with copies of any item type.
func byShare(b *builder) {
	total := 0.0
	for _, t := range b.addable {
		total += float64(t.value * float64(t.left))
	}
	value := min(b.candidate.value, total)
	due := 0.0
	for rest := b.addable; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].value > rest[0].value/2 {
			n++
		}
		share := 0.0
		for _, t := range rest[:n] {
			share += float64(t.value * float64(t.left))
		}
		due += value * share / total
		b.fillByDirection(rest[:n], due)
		rest = rest[n:]
	}
	b.fillByDirection(b.addable, math.Inf(1))
}

// A matching is memory of fillByDirection, which reuses it for all patterns.
type matching struct {
	types      []*itemType
	scaledFree []float64 // scaledFree[d] is the free capacity divided by the square of the bin's capacity, or 0 if that is 0
	inverse    []float64 // inverse[d] is 1 divided by the bin's capacity, or 0 if that is 0
}

// fillByDirection adds copies of the given types until the pattern's value reaches due or no copy can be added. Each step takes the
// type whose demand has the smallest angle to the free capacity, both as shares of the bin's capacity. It adds half of the
// copies that fit, rounded up, or fewer if they reach due. So no dimension runs out long before the others (the dot-product
// heuristic, Panigrahy et al. 2011).
func (b *builder) fillByDirection(among []*itemType, due float64) {
	scaledFree, inverse := b.matching.scaledFree, b.matching.inverse
	for d := range inverse {
		inverse[d] = 0
		if v := b.candidate.capacity[d]; v > 0 {
			inverse[d] = 1 / v
		}
	}
	types := append(b.matching.types[:0], among...)
	b.matching.types = types
	for b.pattern.value < due {
		for d, v := range b.free {
			scaledFree[d] = float64(max(v, 0)) / b.in.units[d] * inverse[d] * inverse[d]
		}
		n, best, most := 0, -1, -1.0
		for _, t := range types {
			if !b.fits(t) || b.refusesClasses(t) {
				continue
			}
			if score := t.alignment(scaledFree, inverse); score > most+epsilon {
				best, most = n, score
			}
			types[n] = t
			n++
		}
		if types = types[:n]; best < 0 {
			return
		}
		t := types[best]
		many := (b.room(t) + 1) / 2
		if enough := (due - b.pattern.value) / t.value; enough < float64(many) {
			many = max(1, int(math.Ceil(enough)))
		}
		if b.add(t, many) == 0 {
			types = slices.Delete(types, best, best+1)
		}
	}
}

// alignment returns a score for adding a copy. It is higher for a smaller angle between the demand and the free capacity,
// both as shares of the bin's capacity. It is the squared cosine, times a factor that is equal for all types, and 0 without
// a demand. matching describes scaledFree and inverse.
func (t *itemType) alignment(scaledFree, inverse []float64) float64 {
	along, length := 0.0, 0.0
	for d, v := range t.scaled {
		w := v * inverse[d]
		along += float64(v * scaledFree[d])
		length += float64(w * w)
	}
	if length == 0 {
		return 0
	}
	return float64(along*along) / length
}
