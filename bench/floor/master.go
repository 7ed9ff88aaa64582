package floor

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A master computes how often each known set is launched, as fractions, so that all items are placed at the least cost.
// It uses the revised simplex method with the inverse of the basis. Its prices are the worth of a unit of each item.
type master struct {
	need  []float64
	known []set
	// basis has the set of each row; -1-i stands for the surplus of item i.
	basis   []int
	inverse [][]float64 // by column
	level   []float64   // how often each set of the basis is launched
	worth   []float64
	pivots  int
}

// Constants of the simplex method. zero is the tolerance: differences below it count as 0. least is the smallest allowed
// pivot. refresh is the number of pivots after which the inverse is computed again.
const (
	zero    = 1e-9
	least   = 1e-7
	refresh = 300
)

// newMaster starts with each item alone on the cheapest bin in which it fits.
func newMaster(k *configuration) *master {
	n := len(k.items)
	m := &master{level: make([]float64, n), worth: make([]float64, n)}
	for i, it := range k.items {
		first := slices.IndexFunc(k.bins, func(b bin) bool { return b.holds(it) })
		alone := set{price: k.bins[first].price, entries: []entry{{i, 1}}}
		m.need, m.known, m.basis = append(m.need, float64(it.count)), append(m.known, alone), append(m.basis, i)
		m.inverse = append(m.inverse, make([]float64, n))
		m.inverse[i][i], m.level[i], m.worth[i] = 1, float64(it.count), alone.price
	}
	return m
}

// solve adds the sets to those that are known and returns the least cost.
func (m *master) solve(more []set) (float64, error) {
	m.known = append(m.known, more...)
	for {
		if m.pivots++; m.pivots%refresh == 0 {
			if err := m.invert(); err != nil {
				return 0, err
			}
		}
		j, gain := m.entering()
		if gain >= -zero {
			break
		}
		m.enter(j, gain)
	}
	cost := 0.0
	for i, j := range m.basis {
		if j >= 0 {
			cost += m.known[j].price * m.level[i]
		}
	}
	return cost, nil
}

// entering returns the set or surplus that lowers the cost most, and the change of the cost, a negative number.
func (m *master) entering() (j int, gain float64) {
	for i := range m.known {
		v := m.known[i].price
		for _, e := range m.known[i].entries {
			v -= e.count * m.worth[e.item]
		}
		if v < gain {
			j, gain = i, v
		}
	}
	for i, v := range m.worth {
		if v < gain {
			j, gain = -1-i, v
		}
	}
	return j, gain
}

// enter adds j to the basis and removes the element whose level becomes zero first.
func (m *master) enter(j int, gain float64) {
	dir := make([]float64, len(m.need))
	add := func(item int, count float64) {
		for i, v := range m.inverse[item] {
			dir[i] += count * v
		}
	}
	if j < 0 {
		add(-1-j, -1)
	} else {
		for _, e := range m.known[j].entries {
			add(e.item, e.count)
		}
	}
	row, step := -1, math.Inf(1)
	for i, v := range dir {
		if v < least {
			continue
		}
		if ratio := m.level[i] / v; row < 0 || ratio < step-zero || ratio <= step+zero && v > dir[row] {
			row, step = i, min(ratio, step)
		}
	}
	step = m.level[row] / dir[row] // such a row exists: prices are positive, so the cost is bounded below
	for i, v := range dir {
		m.level[i] = max(m.level[i]-v*step, 0)
	}
	m.level[row] = step
	for k, column := range m.inverse {
		if column[row] == 0 {
			continue
		}
		f := column[row] / dir[row]
		m.worth[k] += gain * f
		for i, v := range dir {
			column[i] -= v * f
		}
		column[row] = f
	}
	m.basis[row] = j
}

// invert computes the inverse of the basis and the dependent values again, because errors accumulate over many pivots.
func (m *master) invert() error {
	n := len(m.need)
	basis := mat.NewDense(n, n, nil)
	for column, j := range m.basis {
		if j < 0 {
			basis.Set(-1-j, column, -1)
			continue
		}
		for _, e := range m.known[j].entries {
			basis.Set(e.item, column, e.count)
		}
	}
	var inverse mat.Dense
	if err := inverse.Inverse(basis); err != nil {
		return fmt.Errorf("invert the basis of %d sets: %w", n, err)
	}
	clear(m.level)
	clear(m.worth)
	for k := range n {
		for i, j := range m.basis {
			v := inverse.At(i, k)
			m.inverse[k][i] = v
			m.level[i] += v * m.need[k]
			if j >= 0 {
				m.worth[k] += v * m.known[j].price
			}
		}
	}
	for i, v := range m.level {
		m.level[i] = max(v, 0)
	}
	return nil
}
