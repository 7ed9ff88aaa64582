package pack

import (
	"cmp"
	"math"
	"slices"
)

// A market is the linear relaxation of covering what groups of pods need with shapes, fractional numbers of them, at least
// cost. Each group has its own prices: what only dear shapes can hold is worth more.
//
// Its dual maximises the worth of all needs, with y[g][r] the worth of a unit of resource r to group g, such that no shape
// holds more worth than it costs, whichever groups share it:
//
//	sum over r of room[r] * max over g of y[g][r] <= price, over all groups that the shape holds at that price
//
// The maxima make too many constraints to write down, so the broken ones are added until none is left; see Kelley, The
// cutting-plane method (1960). Any y that meets them gives a lower bound, by weak duality.
type market struct {
	columns int
	needs   [][]float64 // by group and column
	stalls  []stall
}

// A stall is a shape at one price, and the groups that it holds for that.
type stall struct {
	room   []float64
	price  float64
	groups []int
	set    groupSet // the same
}

// A groupSet has bit g set for each group g in it.
type groupSet uint64

func (s groupSet) has(g int) bool { return s>>g&1 != 0 }

// rounds bounds how often constraints are added, cuts how many at once.
const (
	rounds = 24
	cuts   = 16
)

// solve returns the worth of a unit of each column to each group, and the cost that no set of shapes goes below.
func (m *market) solve() (worth [][]float64, cost float64) {
	lp := newTableau(m)
	for g := range m.needs {
		for r := range m.columns {
			m.bound(lp, g, r)
		}
	}
	worth = make([][]float64, len(m.needs))
	for g := range worth {
		worth[g] = make([]float64, m.columns)
	}
	most := 1.0
	for range rounds {
		lp.optimise()
		lp.read(worth, m.columns)
		var broken bool
		if most, broken = m.cut(lp, worth); !broken {
			break
		}
	}
	shrink(worth, most)
	for g, need := range m.needs {
		cost += dot(worth[g], need)
	}
	return worth, cost
}

// bound adds the constraint that keeps y[g][r] finite: that of the shape which has most of r for its price.
func (m *market) bound(lp *tableau, g, r int) {
	best, most := -1, 0.0
	for i := range m.stalls {
		s := &m.stalls[i]
		if !s.set.has(g) {
			continue
		}
		if v := s.room[r] / s.price; v > most {
			best, most = i, v
		}
	}
	if best < 0 {
		return
	}
	row := make([]float64, lp.width)
	for c, v := range m.stalls[best].room {
		row[g*m.columns+c] = v
	}
	lp.add(row, m.stalls[best].price)
}

// dearest finds which of the stall's groups is worth most in each column.
func (s *stall) dearest(worth [][]float64, who []int) {
	for r := range who {
		who[r] = s.groups[0]
		for _, g := range s.groups[1:] {
			if worth[g][r] > worth[who[r]][r] {
				who[r] = g
			}
		}
	}
}

// Ceilings are the highest worths of each column to any group of a set, for each set that somebody asked about: a few.
type ceilings struct {
	sets  []groupSet
	worth [][]float64
}

// of returns the ceiling of a set of groups.
func (c *ceilings) of(set groupSet, groups []int, worth [][]float64) []float64 {
	if i := slices.Index(c.sets, set); i >= 0 {
		return c.worth[i]
	}
	top := make([]float64, len(worth[0]))
	for _, g := range groups {
		for r, v := range worth[g] {
			top[r] = max(top[r], v)
		}
	}
	c.sets, c.worth = append(c.sets, set), append(c.worth, top)
	return top
}

// tolerated is by how much a constraint may be broken before it is added; shrink makes up for it.
const tolerated = 1e-5

// cut adds the constraints that worth breaks most. It returns false if there is none, and the most that some stall holds for
// what it costs, or one.
func (m *market) cut(lp *tableau, worth [][]float64) (most float64, found bool) {
	type breach struct {
		stall int
		by    float64
	}
	var broken []breach
	var top ceilings
	most = 1
	for i := range m.stalls {
		s := &m.stalls[i]
		v := dot(top.of(s.set, s.groups, worth), s.room) / s.price
		if v > 1+tolerated {
			broken = append(broken, breach{i, v})
		}
		most = max(most, v)
	}
	slices.SortStableFunc(broken, func(a, b breach) int { return cmp.Compare(b.by, a.by) })
	who := make([]int, m.columns)
	for _, b := range broken[:min(len(broken), cuts)] {
		s := &m.stalls[b.stall]
		s.dearest(worth, who)
		row := make([]float64, lp.width)
		for r, room := range s.room {
			row[who[r]*m.columns+r] = room
		}
		lp.add(row, s.price)
	}
	return most, len(broken) > 0
}

// shrink scales worth down so that a stall that holds most for what it costs holds one.
func shrink(worth [][]float64, most float64) {
	if most == 1 {
		return
	}
	for _, w := range worth {
		for r := range w {
			w[r] /= most
		}
	}
}

// A tableau maximises c*y under rows of a*y <= b, y >= 0, by the simplex method. Rows may be added to a solved one; it is
// then solved again from the start, for it is small. See Chvatal, Linear Programming, chapters 2 and 3.
type tableau struct {
	width int
	c     []float64
	rows  [][]float64
	b     []float64

	// At work: a dictionary, basic variables in terms of the others. Variables below width are the y, the rest slacks.
	at          []float64 // row by row
	right       []float64
	gain        []float64
	basic, free []int
	filled      []int // the columns of the pivot's row that are not zero
}

func newTableau(m *market) *tableau {
	t := &tableau{width: m.columns * len(m.needs)}
	for _, need := range m.needs {
		t.c = append(t.c, need...)
	}
	return t
}

func (t *tableau) add(row []float64, b float64) {
	t.rows = append(t.rows, row)
	t.b = append(t.b, b)
}

// maxPivots bounds the simplex; a problem of this form takes a few pivots a column.
const maxPivots = 4000

// epsilon is what counts as zero in the tableau, whose numbers are near one.
const epsilon = 1e-12

func (t *tableau) optimise() {
	t.at = t.at[:0]
	for _, row := range t.rows {
		t.at = append(t.at, row...)
	}
	t.right = append(t.right[:0], t.b...)
	t.gain = append(t.gain[:0], t.c...)
	t.basic, t.free = t.basic[:0], t.free[:0]
	for i := range t.rows {
		t.basic = append(t.basic, t.width+i)
	}
	for j := range t.width {
		t.free = append(t.free, j)
	}
	for range maxPivots {
		col := t.entering()
		if col < 0 {
			return
		}
		row := t.leaving(col)
		if row < 0 {
			return // a column that is in no shape: cannot happen for needs that fit
		}
		t.pivot(row, col)
	}
}

// entering returns the column that raises the objective most, -1 at the optimum.
func (t *tableau) entering() int {
	best := -1
	for j, v := range t.gain {
		if v > epsilon && (best < 0 || v > t.gain[best]) {
			best = j
		}
	}
	return best
}

// leaving returns the row that bounds the entering column first; of equals the one with the lowest name.
func (t *tableau) leaving(col int) int {
	best, ratio := -1, math.Inf(1)
	for i := range t.right {
		v := t.at[i*t.width+col]
		if v <= epsilon {
			continue
		}
		r := t.right[i] / v
		if best < 0 || r < ratio-epsilon || (r <= ratio && t.basic[i] < t.basic[best]) {
			best, ratio = i, r
		}
	}
	return best
}

func (t *tableau) pivot(row, col int) {
	w := t.width
	pr := t.at[row*w : row*w+w]
	p := pr[col]
	for j := range pr {
		pr[j] /= p
	}
	pr[col] = 1 / p
	t.right[row] /= p
	t.filled = t.filled[:0]
	for j, v := range pr {
		if v != 0 && j != col {
			t.filled = append(t.filled, j)
		}
	}
	for i := range t.right {
		r := t.at[i*w : i*w+w]
		f := r[col]
		if i == row || f == 0 {
			continue
		}
		for _, j := range t.filled {
			r[j] -= float64(f * pr[j]) // the conversion forbids fused arithmetic: same plan on any machine
		}
		r[col] = -f * pr[col]
		t.right[i] = max(t.right[i]-float64(f*t.right[row]), 0)
	}
	f := t.gain[col]
	for _, j := range t.filled {
		t.gain[j] -= float64(f * pr[j])
	}
	t.gain[col] = -f * pr[col]
	t.basic[row], t.free[col] = t.free[col], t.basic[row]
}

// read writes the values of the y into worth.
func (t *tableau) read(worth [][]float64, columns int) {
	for g := range worth {
		clear(worth[g])
	}
	for i, v := range t.basic {
		if v < t.width {
			worth[v/columns][v%columns] = max(t.right[i], 0)
		}
	}
}

// scale returns v as float64 in units that make typical amounts near one: cores, GiB, tens of pods.
func (c columns) scale(v []int64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(max(x, 0)) / c.unit(i)
	}
	return out
}

func (c columns) unit(i int) float64 {
	switch c[i] {
	case "cpu":
		return 1000
	case "memory", "ephemeral-storage":
		return 1 << 30
	case "pods":
		return 10
	}
	return 1
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}
