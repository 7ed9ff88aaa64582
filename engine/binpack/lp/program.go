package lp

import "math"

// A Program is a linear program: maximise c·y subject to rows a·y <= b and y >= 0, with b >= 0.
//
// Its state is a dictionary. It expresses each basic variable and the objective in terms of the free (nonbasic)
// variables:
//
//	basic[i] + sum over j of coef[i][j]*free[j] = rhs[i]
//	objective - sum over j of gain[j]*free[j] = constant
//
// basic[i] and free[j] are numbers of variables. A free variable is 0, so basic[i] has the value rhs[i]. gain[j] is by how
// much the objective rises per unit of free[j]. Variable j < width is y[j]. Variable width+i is the slack of row i.
type Program struct {
	width     int // the number of variables y, which is also the number of free variables
	objective []float64
	rows      [][]float64
	bounds    []float64

	coef        []float64 // the coefficients of the dictionary, row after row
	rhs         []float64 // by row, as basic
	gain        []float64 // by column, as free
	basic, free []int
	filled      []int   // the other columns with nonzero entries in the pivot row, during exchange
	minGain     float64 // gains up to this value are regarded as zero
	solved      bool    // the dictionary represents the current rows and objective
	pivots      int     // the number of pivots since the last Reset
}

// NewProgram returns the program with this objective and no rows. It keeps a reference to the slice.
func NewProgram(objective []float64) *Program {
	return &Program{width: len(objective), objective: objective}
}

// AddRow adds the row a·y <= b. b must not be negative. The Program keeps a reference to the slice.
func (p *Program) AddRow(a []float64, b float64) {
	p.rows, p.bounds = append(p.rows, a), append(p.bounds, b)
	if p.solved {
		p.addRow(a, b)
	}
}

// Rows returns the number of rows.
func (p *Program) Rows() int { return len(p.rows) }

// SetObjective replaces the objective. The Program keeps a reference to the slice.
func (p *Program) SetObjective(c []float64) {
	p.objective = c
	if p.solved {
		p.setGains()
	}
}

// Reset discards the basis. The next solve starts from y = 0, without accumulated rounding errors.
func (p *Program) Reset() { p.solved, p.pivots = false, 0 }

const (
	// maxPivots is the largest number of primal pivots in one solve.
	maxPivots = 4000
	// After blandAfter pivots the primal method uses Bland's rule, which prevents cycling. The dual method uses it after
	// blandRestore pivots. After maxRestore dual pivots the solve restarts from y = 0.
	blandAfter, blandRestore, maxRestore = 1000, 60, 200
)

// Solve finds an optimal y and returns true. It returns false if the objective is unbounded or maxPivots is reached.
// Then y is feasible, but may not be optimal.
func (p *Program) Solve() bool {
	// Rows added since the last solve may be violated. If restore cannot repair that, Solve begins at y = 0.
	if !p.solved || !p.restore() {
		p.start()
	}
	p.minGain = 0
	for _, v := range p.objective {
		p.minGain = max(p.minGain, v*negligible)
	}
	for n := range maxPivots {
		row, col := p.choose(n >= blandAfter)
		if col < 0 {
			return true
		}
		if row < 0 {
			return false
		}
		p.exchange(row, col)
	}
	return false
}

// restore makes the basis primal feasible by the dual simplex method. It returns false if that fails, for example
// because the objective has changed as well, or rounding errors are too large.
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
		p.exchange(row, col)
	}
	return false
}

// Solution sets out[j] to y[j].
func (p *Program) Solution(out []float64) {
	clear(out)
	for i, v := range p.basic {
		if v < p.width {
			out[v] = max(p.rhs[i], 0)
		}
	}
}

// Value returns the objective at the current solution.
func (p *Program) Value() float64 {
	sum := 0.0
	for i, v := range p.basic {
		if v < p.width {
			sum += float64(p.objective[v] * max(p.rhs[i], 0))
		}
	}
	return sum
}

// infinite is larger than any ratio.
var infinite = math.Inf(1)
