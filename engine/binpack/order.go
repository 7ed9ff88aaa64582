package binpack

import "math"

// An order fills a bin: it adds copies to the pattern until nothing more goes in.
type order func(f *filling)

// orders are those that are tried. The best outcome counts.
var orders = [...]order{byShare, byValue}

// byValue takes the item type with the most valuable copies for as long as one goes in, then the next.
func byValue(f *filling) {
	for _, t := range f.open {
		if f.fits(t) {
			f.add(t, f.room(t))
		}
	}
}

// byShare goes through the item types by value, in ranges of which each is worth half of the one before, and gives each range
// its share of the bin: as much as it has of all that is left. So no bin takes the small copies that others need to fill their
// gaps. Within a range it takes what matches the free capacity.
func byShare(f *filling) {
	total := 0.0
	for _, t := range f.open {
		total += float64(t.value * float64(t.left))
	}
	value := min(f.candidate.value, total)
	due := 0.0
	for open := f.open; len(open) > 0; {
		n := 1
		for n < len(open) && open[n].value > open[0].value/2 {
			n++
		}
		share := 0.0
		for _, t := range open[:n] {
			share += float64(t.value * float64(t.left))
		}
		due += value * share / total
		f.match(open[:n], due)
		open = open[n:]
	}
	f.match(f.open, math.Inf(1))
}

// match adds copies of the open types until the pattern is worth due or nothing more goes in. It takes the type whose demand
// points most nearly in the direction of what is free, in units that make the whole bin one: half of what goes in, then it
// looks again. So no dimension runs out early (the dot-product heuristic, Panigrahy et al. 2011).
func (f *filling) match(open []*itemType, due float64) {
	left, inverse := f.scratch.left, f.scratch.inverse
	for d := range inverse {
		inverse[d] = 0
		if v := f.candidate.capacity[d]; v > 0 {
			inverse[d] = 1 / v
		}
	}
	types, scores := append(f.scratch.matched[:0], open...), f.scratch.scores
	f.scratch.matched = types
	for f.pattern.value < due {
		for d, v := range f.free {
			left[d] = float64(max(v, 0)) / f.in.units[d] * inverse[d] * inverse[d]
		}
		f.in.meter.spend(len(types) / 8)
		n := 0
		scores = scores[:0]
		for _, t := range types {
			if f.fits(t) && !f.closed(t) {
				types[n] = t
				scores = append(scores, t.match(left, inverse))
				n++
			}
		}
		var added bool
		if types, scores, added = f.addBest(types[:n], scores, due); !added {
			return
		}
		f.scratch.scores = scores
	}
}

// addBest adds copies of the type with the highest score that is not refused. It returns false if all are, and without those
// types that were found refused.
func (f *filling) addBest(types []*itemType, scores []float64, due float64) ([]*itemType, []float64, bool) {
	for {
		best, score := -1, -1.0
		for i, v := range scores {
			if v > score+epsilon {
				best, score = i, v
			}
		}
		if best < 0 {
			return types, scores, false
		}
		t := types[best]
		many := (f.room(t) + 1) / 2
		if enough := (due - f.pattern.value) / t.value; enough < float64(many) {
			many = max(1, int(math.Ceil(enough)))
		}
		if f.add(t, many) > 0 {
			return types, scores, true
		}
		n := 0 // what is there refuses it, and maybe others like it
		for i, t := range types {
			if i != best && !f.closed(t) {
				types[n], scores[n] = t, scores[i]
				n++
			}
		}
		types, scores = types[:n], scores[:n]
	}
}

// match returns the square of the cosine of the angle between the demand of a copy and what is left, both as shares of the
// whole bin, up to a factor that is the same for all types. Left comes divided by the whole twice, once for each side.
func (t *itemType) match(left, inverse []float64) float64 {
	along, length := 0.0, 0.0
	for d, v := range t.scaled {
		w := v * inverse[d]
		along += float64(v * left[d])
		length += float64(w * w)
	}
	if length == 0 {
		return 0
	}
	return float64(along*along) / length
}
