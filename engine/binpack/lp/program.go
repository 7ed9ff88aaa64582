package lp

import "math"

// A Program maximises c·y subject to rows a·y <= b, y >= 0, with b >= 0.
//
// Its state is a dictionary: each basic variable in terms of the free ones,
//
//	basic[i] + sum over j of at[i][j]*free[j] = right[i]
//	objective - sum over j of gain[j]*free[j] = constant
//
// Variables below the width are the y, variable width+i is the slack of row i.
type Program struct {
	width     int
	objective []float64
	rows      [][]float64
	bounds    []float64
	dictionary
	// Pivots counts the pivots of all solves, and Steps the rows that they changed.
	Pivots, Steps int64
}

// NewProgram returns the program with this objective and no rows. It keeps the slice.
func NewProgram(objective []float64) *Program {
	return &Program{width: len(objective), objective: objective}
}

// AddRow adds the row a·y <= b. It keeps the slice. b must not be negative.
func (p *Program) AddRow(a []float64, b float64) {
	p.rows, p.bounds = append(p.rows, a), append(p.bounds, b)
	if p.solved {
		p.express(a, b, p.width+len(p.rows)-1)
	}
}

// Rows returns the number of rows.
func (p *Program) Rows() int { return len(p.rows) }

// SetObjective replaces the objective. It keeps the slice.
func (p *Program) SetObjective(c []float64) {
	p.objective = c
	if p.solved {
		p.price(c, p.width)
	}
}

// Reset forgets the basis. The next solve starts from y = 0, and with it from exact numbers.
func (p *Program) Reset() { p.solved = false }

const (
	// maxPivots bounds one solve. A program of this form takes a few pivots a variable.
	maxPivots = 4000
	// blandAfter is after how many pivots Bland's rule is used, by which no solve goes in circles. For making a basis feasible
	// again it is blandRestore; after maxRestore starting from y = 0 is cheaper.
	blandAfter, blandRestore, maxRestore = 1000, 60, 200
)

// Solve finds an optimal y. It returns false if there is none because the objective is unbounded, or if it gave up after
// maxPivots. The y that it then leaves is feasible.
func (p *Program) Solve() bool {
	if p.solved {
		// Rows that were added may be violated: the basis is dual feasible, unless the objective was changed as well.
		if !p.restore() {
			p.solved = false
		}
	}
	if !p.solved {
		p.start(p.rows, p.bounds, p.objective)
	}
	for n := range maxPivots {
		row, col := p.choose(n >= blandAfter)
		if col < 0 {
			return true
		}
		if row < 0 {
			return false
		}
		p.pivot(row, col)
	}
	return false
}

// restore makes the basis feasible again by the dual simplex method. It returns false if it cannot, as when the objective has
// changed too, or numbers have become too inexact.
func (p *Program) restore() bool {
	for n := range maxRestore {
		row := p.violated(n >= blandRestore)
		if row < 0 {
			return true
		}
		col := p.dualEntering(row)
		if col < 0 {
			return false
		}
		p.pivot(row, col)
	}
	return false
}

// pivot exchanges a basic variable for a free one and counts the work.
func (p *Program) pivot(row, col int) {
	p.Pivots++
	p.Steps += int64(len(p.right))
	p.exchange(row, col)
}

// Solution writes the values of the y into out.
func (p *Program) Solution(out []float64) {
	clear(out)
	for i, v := range p.basic {
		if v < p.width {
			out[v] = max(p.right[i], 0)
		}
	}
}

// Duals writes the dual price of each row into out: by how much the optimum rises for a unit more of its bound.
func (p *Program) Duals(out []float64) {
	clear(out)
	for j, v := range p.free {
		if v >= p.width {
			out[v-p.width] = max(-p.gain[j], 0)
		}
	}
}

// Value returns the objective at the solution.
func (p *Program) Value() float64 {
	sum := 0.0
	for i, v := range p.basic {
		if v < p.width {
			sum += float64(p.objective[v] * max(p.right[i], 0))
		}
	}
	return sum
}

// DropSlack removes the rows for which drop says so. It keeps every row that bounds the solution, for without it the basis
// would not be one. It returns which of the old rows were kept, in order.
func (p *Program) DropSlack(drop func(row int) bool) []int {
	kept := make([]int, 0, len(p.rows))
	gone := make([]bool, len(p.rows))
	if p.solved {
		for _, v := range p.basic {
			if v >= p.width && drop(v-p.width) {
				gone[v-p.width] = true
			}
		}
	} else {
		for i := range p.rows {
			gone[i] = drop(i)
		}
	}
	number := make([]int, len(p.rows))
	for i := range p.rows {
		number[i] = p.width + len(kept)
		if !gone[i] {
			p.rows[len(kept)], p.bounds[len(kept)] = p.rows[i], p.bounds[i]
			kept = append(kept, i)
		}
	}
	p.rows, p.bounds = p.rows[:len(kept)], p.bounds[:len(kept)]
	if p.solved {
		p.renumber(p.width, gone, number)
	}
	return kept
}

// dot returns the inner product.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i]) // the conversion forbids fused arithmetic: same result on any machine
	}
	return sum
}

// infinite is more than any ratio.
var infinite = math.Inf(1)
