package sparse

import "math"

// A master is the restricted master problem of column generation. Its columns are patterns, each with a price:
//
//	minimise    sum over patterns j of price[j]*x[j]
//	subject to  sum over j of count[i][j]*x[j] >= copies[i]   for each item i,   0 <= x[j] <= times[j]
//
// x[j] is how often pattern j is used, and count[i][j] the number of copies of item i in it.
type master struct {
	price []float64       // price[j] is the price of pattern j, in dollars per hour
	times []float64       // times[j] is how often pattern j can be used before an item has no copies left
	ends  []int32         // ends[j] is the end of the members of pattern j in items
	items []int32         // the items of the copies of all patterns, one pattern after another
	known map[uint64]bool // hashes of the patterns
}

// add adds the pattern of these copies, each given by the index of its item. It does nothing if the master has the pattern.
func (m *master) add(members []int, price float64, items []Item) {
	hash := uint64(0)
	for _, t := range members {
		h := uint64(t+1) * 0x9e3779b97f4a7c15 // mix the bits, so that the sums of different patterns differ
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
		m.items = append(m.items, int32(t))
	}
	m.ends = append(m.ends, int32(len(m.items)))
	m.price = append(m.price, price)
	m.times = append(m.times, float64(times))
}

const (
	// subgradientSteps is the largest number of iterations. The step factor starts at 1. After stepPatience iterations
	// without a better lower bound, it is multiplied by stepShrink.
	subgradientSteps = 150
	stepShrink       = 0.6
	stepPatience     = 8
	// minValue is the least value of an item, in dollars per hour. Iterations end if the squared norm of the subgradient is
	// below epsilon.
	minValue, epsilon = 1e-9, 1e-12
	// betterBound is the least relative increase that makes a lower bound a better one.
	betterBound = 1e-5
)

// solveMaster sets the values of the items to approximate dual prices of the master. They are the u >= 0 that maximise
//
//	L(u) = sum over items i of copies[i]*u[i] - sum over patterns j of times[j]*max(0, value of j - price[j])
//
// The value of pattern j is the sum of u over its copies. L(u) is a lower bound of the master by Lagrangian relaxation. A
// subgradient method maximises it (Fisher 1981): in each iteration, every pattern j whose value exceeds its price is used
// times[j] times. The values of items that are then used too often fall, and those of items used too seldom rise. Steps have
// Polyak's length, where goal is the bound to reach.
func (g *packer) solveMaster(goal float64) {
	factor, vain, best := 1.0, 0, 0.0
	var top []float64
	missing := make([]float64, len(g.value))
	for range subgradientSteps {
		bound := 0.0
		for i := range g.items {
			missing[i] = float64(g.items[i].Copies)
			bound += float64(g.value[i] * missing[i])
		}
		bound -= g.master.evaluate(g.value, missing)
		if top == nil || bound > best*(1+betterBound) {
			best, top, vain = bound, append(top[:0], g.value...), 0
		} else if vain++; vain > stepPatience {
			factor, vain = factor*stepShrink, 0
			copy(g.value, top)
			continue
		}
		square := 0.0
		for _, v := range missing {
			square += float64(v * v) // the conversion prevents fused multiply-add: same result on any machine
		}
		if square < epsilon {
			break
		}
		step := factor * (goal - bound) / square
		for i, v := range missing {
			g.value[i] = max(g.value[i]+float64(step*v), minValue)
		}
	}
	copy(g.value, top)
}

// evaluate uses each pattern j whose value exceeds its price times[j] times. It returns the total excess of value over
// price, and subtracts the used copies of item i from missing[i].
func (m *master) evaluate(value, missing []float64) float64 {
	excess, from := 0.0, int32(0)
	for j, end := range m.ends {
		more := -m.price[j]
		members := m.items[from:end]
		for _, t := range members {
			more += value[t]
		}
		if from = end; more > 0 {
			excess += float64(more * m.times[j])
			for _, t := range members {
				missing[t] -= m.times[j]
			}
		}
	}
	return excess
}
