package colgen

import "math"

// A master is the restricted master problem of column generation: the columns that are known, each once.
type master struct {
	price []float64
	times []float64 // how often the copies that there are suffice for the column
	ends  []int32   // where the members of each column end
	items []int32   // the members of all columns, in order
	known map[uint64]bool
}

// add makes a column known that is not yet: copies of these items, for that price.
func (m *master) add(members []int32, price float64, items []Item) {
	hash := uint64(0)
	for _, t := range members {
		h := uint64(t+1) * 0x9e3779b97f4a7c15 // mixed, for sums of few to differ
		h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
		hash += h ^ h>>32
	}
	if m.known[hash] {
		return
	}
	if m.known == nil {
		m.known = map[uint64]bool{}
	}
	m.known[hash] = true
	times := math.MaxInt
	for _, t := range members {
		n := 0
		for _, o := range members {
			if o == t {
				n++
			}
		}
		times = min(times, items[t].Copies/n)
	}
	m.items = append(m.items, members...)
	m.ends = append(m.ends, int32(len(m.items)))
	m.price = append(m.price, price)
	m.times = append(m.times, float64(times))
}

const (
	// subgradientSteps is the number of iterations. The step factor starts at 1 and shrinks by stepShrink after stepPatience
	// iterations without a better bound.
	subgradientSteps = 150
	stepShrink       = 0.6
	stepPatience     = 8
	// minValue is the least value of a copy, and epsilon what counts as zero.
	minValue, epsilon = 1e-9, 1e-12
	// betterBound is by how much a bound must be higher to count as better.
	betterBound = 1e-5
)

// solveMaster finds the dual prices of the master problem, the values u of items for which the bound
//
//	L(u) = sum over items i of copies[i]*u[i] - sum over columns j of times[j]*max(0, value of j - price[j])
//
// is highest, by a subgradient method on the Lagrangian relaxation (Fisher 1981). A column that is worth more than it costs is
// taken as often as there are copies for it. Copies of which too many are taken then become cheaper, those of which too few are
// taken dearer. The length of a step is Polyak's, towards goal.
func (g *generator) solveMaster(goal float64) {
	m := &g.master
	factor, vain, best := 1.0, 0, 0.0
	var top []float64
	missing := make([]float64, len(g.value))
	for range subgradientSteps {
		if !g.spend(len(m.ends)) {
			break
		}
		bound := 0.0
		for i := range g.items {
			missing[i] = float64(g.items[i].Copies)
			bound += float64(g.value[i] * missing[i])
		}
		bound -= m.take(g.value, missing)
		if top == nil || bound > best*(1+betterBound) {
			best, top, vain = bound, append(top[:0], g.value...), 0
		} else if vain++; vain > stepPatience {
			factor, vain = factor*stepShrink, 0
			copy(g.value, top)
			continue
		}
		square := 0.0
		for _, v := range missing {
			square += float64(v * v) // the conversion forbids fused arithmetic: same result on any machine
		}
		if square < epsilon {
			break
		}
		step := factor * (goal - bound) / square
		for i, v := range missing {
			g.value[i] = max(g.value[i]+float64(step*v), minValue)
		}
	}
	if top != nil {
		copy(g.value, top)
	}
}

// take takes each column that is worth more than it costs as often as there are copies for it, out of what is missing, and
// returns how much more they are worth.
func (m *master) take(value, missing []float64) float64 {
	gain, from := 0.0, int32(0)
	for j, end := range m.ends {
		more := -m.price[j]
		members := m.items[from:end]
		for _, t := range members {
			more += value[t]
		}
		if from = end; more > 0 {
			gain += float64(more * m.times[j])
			for _, t := range members {
				missing[t] -= m.times[j]
			}
		}
	}
	return gain
}
