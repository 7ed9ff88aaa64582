package pack

import "math"

// A setPool is the sets that are known: units that fit together on one bin.
type setPool struct {
	price []float64
	times []float64 // how often the units that there are suffice for it
	ends  []int32   // where the members of each set end
	kinds []int32   // the members of all sets, in order
	known map[uint64]bool
}

// add makes a set known that is not yet: units of these kinds, left of each at the most, for that price.
func (p *setPool) add(kinds []int32, price float64, left []int) {
	hash := uint64(0)
	for _, k := range kinds {
		h := uint64(k+1) * 0x9e3779b97f4a7c15 // mixed, for sums of few to differ
		h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
		hash += h ^ h>>32
	}
	if p.known[hash] {
		return
	}
	if p.known == nil {
		p.known = map[uint64]bool{}
	}
	p.known[hash] = true
	times := math.MaxInt
	for _, k := range kinds {
		n := 0
		for _, o := range kinds {
			if o == k {
				n++
			}
		}
		times = min(times, left[k]/n)
	}
	p.kinds = append(p.kinds, kinds...)
	p.ends = append(p.ends, int32(len(p.kinds)))
	p.price = append(p.price, price)
	p.times = append(p.times, float64(times))
}

// How worths are settled: in so many steps; the first goes by pace, which falls to slower of it after patience steps in vain.
const (
	settling = 150
	slower   = 0.6
	tired    = 8
)

// settle moves the worths to where they are highest in all, without any set of the pool being worth more than it costs: a
// subgradient method on the Lagrangian relaxation of covering all units by sets. A set that is worth more than it costs is
// taken as often as there are units for it; units of which too many are taken then become cheaper, those of which too few
// are dearer. The length of a step is Polyak's, towards goal.
func (a *appraiser) settle(goal float64) {
	p := &a.pool
	pace, vain, best := 1.0, 0, 0.0
	var top []float64
	short := make([]float64, len(a.worth))
	for range settling {
		bound := 0.0
		for i, k := range a.t.kinds {
			short[i] = float64(k.left)
			bound += float64(a.worth[i] * short[i])
		}
		bound -= p.take(a.worth, short)
		if top == nil || bound > best*(1+tolerated) {
			best, top, vain = bound, append(top[:0], a.worth...), 0
		} else if vain++; vain > tired {
			pace, vain = pace*slower, 0
			copy(a.worth, top)
			continue
		}
		square := dot(short, short)
		if square < epsilon {
			break
		}
		step := pace * (goal - bound) / square
		for i, v := range short {
			a.worth[i] = max(a.worth[i]+float64(step*v), minPrice)
		}
	}
	copy(a.worth, top)
}

// take takes each set that is worth more than it costs as often as there are units for it, out of what is short, and returns how
// much more they are worth.
func (p *setPool) take(worth, short []float64) float64 {
	gain, from := 0.0, int32(0)
	for j, end := range p.ends {
		more := -p.price[j]
		members := p.kinds[from:end]
		for _, k := range members {
			more += worth[k]
		}
		if from = end; more > 0 {
			gain += float64(more * p.times[j])
			for _, k := range members {
				short[k] -= p.times[j]
			}
		}
	}
	return gain
}
