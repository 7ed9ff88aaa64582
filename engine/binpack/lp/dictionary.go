package lp

// epsilon is the largest magnitude of a coefficient of the dictionary that is regarded as zero. Typical coefficients are
// near one.
const epsilon = 1e-12

// negligible is a share of the largest coefficient of the objective. Gains up to that share are regarded as zero. Gains
// are sums of many products, whose rounding errors must not cause pivots.
const negligible = 1e-11

// feasible is the tolerance for nonnegative variables: a basic variable is regarded as nonnegative if it is at least
// -feasible.
const feasible = 1e-9

// start sets the dictionary to the basis of y = 0, in which all slacks are basic.
func (p *Program) start() {
	p.solved = true
	p.rhs, p.gain = append(p.rhs[:0], p.bounds...), append(p.gain[:0], p.objective...)
	p.coef, p.basic, p.free = p.coef[:0], p.basic[:0], p.free[:0]
	for i, row := range p.rows {
		p.coef, p.basic = append(p.coef, row...), append(p.basic, p.width+i)
	}
	for j := range p.width {
		p.free = append(p.free, j)
	}
}

// addRow adds the last row, a·y <= b, expressed in terms of the free variables. The basic variable of the row is its slack.
func (p *Program) addRow(a []float64, b float64) {
	from := len(p.coef)
	for _, v := range p.free {
		coefficient := 0.0
		if v < p.width {
			coefficient = a[v]
		}
		p.coef = append(p.coef, coefficient)
	}
	row := p.coef[from:]
	for i, v := range p.basic {
		if v < p.width && a[v] != 0 {
			subtract(row, a[v], p.row(i))
			b -= float64(a[v] * p.rhs[i])
		}
	}
	p.basic = append(p.basic, p.width+len(p.rhs))
	p.rhs = append(p.rhs, b)
}

// setGains computes the gains of the free variables for the objective.
func (p *Program) setGains() {
	for j, v := range p.free {
		p.gain[j] = 0
		if v < p.width {
			p.gain[j] = p.objective[v]
		}
	}
	for i, v := range p.basic {
		if v < p.width && p.objective[v] != 0 {
			subtract(p.gain, p.objective[v], p.row(i))
		}
	}
}

// row returns the coefficients of row i of the dictionary, by column.
func (p *Program) row(i int) []float64 { return p.coef[i*p.width : i*p.width+p.width] }

// subtract subtracts f times v from out. The conversion prevents fused multiply-add: same result on any machine.
func subtract(out []float64, f float64, v []float64) {
	for j, x := range v[:len(out)] {
		out[j] -= float64(f * x)
	}
}

// choose returns the leaving row and the entering column of the next pivot. The column is -1 at the optimum. The row is
// -1 if the objective is unbounded.
//
// The column is the one whose pivot raises the objective most (greatest-improvement rule). If bland is true, it is that of
// the variable with the lowest number among those with a positive gain (Bland's rule).
func (p *Program) choose(bland bool) (row, col int) {
	row, col = -1, -1
	most := 0.0
	for j, v := range p.gain {
		if v <= p.minGain || bland && col >= 0 && p.free[j] > p.free[col] {
			continue
		}
		i := p.leaving(j)
		if i < 0 {
			return -1, j
		}
		rise := v * max(p.rhs[i], 0) / p.coef[i*p.width+j]
		if bland || col < 0 || rise > most || rise == most && v > p.gain[col] {
			row, col, most = i, j, rise
		}
	}
	return row, col
}

// leaving returns the row that the primal ratio test chooses for the entering column. It returns -1 if no row bounds
// the entering variable. Of equal ratios it takes the basic variable with the lowest number.
func (p *Program) leaving(col int) int {
	best, ratio := -1, infinite
	for i := range p.rhs {
		v := p.coef[i*p.width+col]
		if v <= epsilon {
			continue
		}
		r := max(p.rhs[i], 0) / v
		if best < 0 || r < ratio-epsilon || (r <= ratio && p.basic[i] < p.basic[best]) {
			best, ratio = i, r
		}
	}
	return best
}

// violated returns the row with the most negative basic variable, -1 if none is negative. If bland is true, it returns
// the row of the negative variable with the lowest number.
func (p *Program) violated(bland bool) int {
	best, least := -1, -feasible
	for i, v := range p.rhs {
		switch {
		case bland && v < -feasible && (best < 0 || p.basic[i] < p.basic[best]):
			best = i
		case !bland && v < least:
			best, least = i, v
		}
	}
	return best
}

// dualEntering returns the column that the dual ratio test chooses for a violated row. It returns -1 if there is none.
// Of equal ratios it takes the free variable with the lowest number.
func (p *Program) dualEntering(row int) int {
	best, ratio := -1, infinite
	for j, v := range p.row(row) {
		if v >= -epsilon {
			continue
		}
		r := min(p.gain[j], 0) / v
		if best < 0 || r < ratio-epsilon || (r <= ratio && p.free[j] < p.free[best]) {
			best, ratio = j, r
		}
	}
	return best
}

// exchange pivots: the free variable of column col becomes basic, and the basic variable of the row becomes free.
func (p *Program) exchange(row, col int) {
	p.pivots++
	pr := p.row(row)
	pivot := pr[col]
	for j := range pr {
		pr[j] /= pivot
	}
	pr[col] = 1 / pivot
	p.rhs[row] /= pivot
	p.filled = p.filled[:0]
	for j, v := range pr {
		if v != 0 && j != col {
			p.filled = append(p.filled, j)
		}
	}
	for i := range p.rhs {
		r := p.row(i)
		f := r[col]
		if i == row || f == 0 {
			continue
		}
		if 2*len(p.filled) > p.width {
			subtract(r, f, pr)
		} else {
			for _, j := range p.filled {
				r[j] -= float64(f * pr[j])
			}
		}
		r[col] = -f * pr[col]
		p.rhs[i] -= float64(f * p.rhs[row])
	}
	f := p.gain[col]
	for _, j := range p.filled {
		p.gain[j] -= float64(f * pr[j])
	}
	p.gain[col] = -f * pr[col]
	p.basic[row], p.free[col] = p.free[col], p.basic[row]
}
