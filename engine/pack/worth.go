package pack

import "math"

// relax solves the linear relaxation of covering need with shapes, fractional numbers of them, at least cost.
//
// It returns the cost, which no integral set of shapes goes below, and for each column what a unit of it is worth: the
// dual prices. It solves the dual, which maximises need*y under room_j*y <= price_j and y >= 0, by the simplex method from
// y = 0; see Chvatal, Linear Programming, chapters 2 and 5. rooms and prices are parallel; prices are positive.
func relax(need []float64, rooms [][]float64, prices []float64) (cost float64, worth []float64) {
	t := newTableau(need, rooms, prices)
	for range maxPivots {
		col := t.entering()
		if col < 0 {
			break
		}
		row := t.leaving(col)
		if row < 0 {
			break // some column is in no shape: cannot happen for needs that fit
		}
		t.pivot(row, col)
	}
	worth = make([]float64, len(need))
	for i, v := range t.basic {
		if v < len(need) {
			worth[v] = max(t.b[i], 0)
		}
	}
	return t.cost, worth
}

// maxPivots bounds the simplex; a problem of this form takes a few pivots a column.
const maxPivots = 2000

// epsilon is what counts as zero in the tableau, whose numbers are near one.
const epsilon = 1e-12

// A tableau is a dictionary in the sense of Chvatal: basic variables in terms of the others.
type tableau struct {
	a    [][]float64 // a[i][j]: coefficient of nonbasic j in row i
	b    []float64   // value of the basic variable of row i
	c    []float64   // objective coefficient of nonbasic j
	cost float64
	// basic and free name the variables: 0.. are the y, the rest slacks.
	basic, free []int
}

func newTableau(need []float64, rooms [][]float64, prices []float64) *tableau {
	t := &tableau{a: make([][]float64, len(rooms)), b: make([]float64, len(rooms)), c: make([]float64, len(need))}
	copy(t.b, prices)
	copy(t.c, need)
	for i, room := range rooms {
		t.a[i] = make([]float64, len(need))
		copy(t.a[i], room)
		t.basic = append(t.basic, len(need)+i)
	}
	for j := range need {
		t.free = append(t.free, j)
	}
	return t
}

// entering returns the column that raises the objective most, -1 at the optimum.
func (t *tableau) entering() int {
	best := -1
	for j, v := range t.c {
		if v > epsilon && (best < 0 || v > t.c[best]) {
			best = j
		}
	}
	return best
}

// leaving returns the row that bounds the entering column first; of equals the one with the lowest name.
func (t *tableau) leaving(col int) int {
	best, ratio := -1, math.Inf(1)
	for i := range t.a {
		if t.a[i][col] <= epsilon {
			continue
		}
		r := t.b[i] / t.a[i][col]
		if best < 0 || r < ratio-epsilon || (r <= ratio && t.basic[i] < t.basic[best]) {
			best, ratio = i, r
		}
	}
	return best
}

func (t *tableau) pivot(row, col int) {
	p := t.a[row][col]
	for j := range t.a[row] {
		t.a[row][j] /= p
	}
	t.a[row][col] = 1 / p
	t.b[row] /= p
	for i := range t.a {
		f := t.a[i][col]
		if i == row || f == 0 {
			continue
		}
		for j := range t.a[i] {
			if j != col {
				t.a[i][j] -= float64(f * t.a[row][j]) // the conversion forbids fused arithmetic: same plan on any machine
			}
		}
		t.a[i][col] = -f * t.a[row][col]
		t.b[i] = max(t.b[i]-float64(f*t.b[row]), 0)
	}
	f := t.c[col]
	for j := range t.c {
		if j != col {
			t.c[j] -= float64(f * t.a[row][j])
		}
	}
	t.c[col] = -f * t.a[row][col]
	t.cost += float64(f * t.b[row])
	t.basic[row], t.free[col] = t.free[col], t.basic[row]
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
