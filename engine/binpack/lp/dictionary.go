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

// A dictionary is the state of the simplex method. The comment of Program gives the equations that its fields form.
type dictionary struct {
	columns     int       // the number of variables y, which is also the number of free variables
	coef        []float64 // the coefficients, row after row
	rhs         []float64 // by row, as basic
	gain        []float64 // by column, as free
	basic, free []int
	filled      []int   // the other columns with nonzero entries in the pivot row, during exchange
	minGain     float64 // gains up to this value are regarded as zero
	solved      bool    // the dictionary represents the current rows and objective
}

// start sets the dictionary to the basis of y = 0, in which all slacks are basic.
func (d *dictionary) start(rows [][]float64, bounds, objective []float64) {
	d.columns, d.solved = len(objective), true
	d.coef = d.coef[:0]
	for _, row := range rows {
		d.coef = append(d.coef, row...)
	}
	d.rhs = append(d.rhs[:0], bounds...)
	d.gain = append(d.gain[:0], objective...)
	d.setMinGain(objective)
	d.basic, d.free = d.basic[:0], d.free[:0]
	for i := range rows {
		d.basic = append(d.basic, d.columns+i)
	}
	for j := range d.columns {
		d.free = append(d.free, j)
	}
}

// addRow adds the row a·y <= b, expressed in terms of the free variables. The basic variable of the row is its slack,
// which has number slack.
func (d *dictionary) addRow(a []float64, b float64, slack int) {
	from := len(d.coef)
	for _, v := range d.free {
		coefficient := 0.0
		if v < d.columns {
			coefficient = a[v]
		}
		d.coef = append(d.coef, coefficient)
	}
	row := d.coef[from:]
	for i, v := range d.basic {
		if v >= d.columns || a[v] == 0 {
			continue
		}
		f := a[v]
		for j, x := range d.coef[i*d.columns : i*d.columns+d.columns] {
			row[j] -= float64(f * x)
		}
		b -= float64(f * d.rhs[i])
	}
	d.rhs, d.basic = append(d.rhs, b), append(d.basic, slack)
}

// setGains computes the gains of the free variables for the objective c. width is the number of variables y.
func (d *dictionary) setGains(c []float64, width int) {
	d.setMinGain(c)
	for j, v := range d.free {
		d.gain[j] = 0
		if v < width {
			d.gain[j] = c[v]
		}
	}
	for i, v := range d.basic {
		if v >= width || c[v] == 0 {
			continue
		}
		f := c[v]
		for j, x := range d.coef[i*d.columns : i*d.columns+d.columns] {
			d.gain[j] -= float64(f * x)
		}
	}
}

// setMinGain computes minGain for the objective.
func (d *dictionary) setMinGain(objective []float64) {
	d.minGain = 0
	for _, v := range objective {
		d.minGain = max(d.minGain, v*negligible)
	}
}

// choose returns the leaving row and the entering column of the next pivot. The column is -1 at the optimum. The row is
// -1 if the objective is unbounded.
//
// The column is the one whose pivot raises the objective most (greatest-improvement rule). If bland is true, it is that of
// the variable with the lowest number among those with a positive gain (Bland's rule).
func (d *dictionary) choose(bland bool) (row, col int) {
	row, col = -1, -1
	most := 0.0
	for j, v := range d.gain {
		if v <= d.minGain || bland && col >= 0 && d.free[j] > d.free[col] {
			continue
		}
		i := d.leaving(j)
		if i < 0 {
			return -1, j
		}
		rise := v * max(d.rhs[i], 0) / d.coef[i*d.columns+j]
		if bland || col < 0 || rise > most || rise == most && v > d.gain[col] {
			row, col, most = i, j, rise
		}
	}
	return row, col
}

// leaving returns the row that the primal ratio test chooses for the entering column. It returns -1 if no row bounds
// the entering variable. Of equal ratios it takes the basic variable with the lowest number.
func (d *dictionary) leaving(col int) int {
	best, ratio := -1, infinite
	for i := range d.rhs {
		v := d.coef[i*d.columns+col]
		if v <= epsilon {
			continue
		}
		r := max(d.rhs[i], 0) / v
		if best < 0 || r < ratio-epsilon || (r <= ratio && d.basic[i] < d.basic[best]) {
			best, ratio = i, r
		}
	}
	return best
}

// violated returns the row with the most negative basic variable, -1 if none is negative. If bland is true, it returns
// the row of the negative variable with the lowest number.
func (d *dictionary) violated(bland bool) int {
	best, least := -1, -feasible
	for i, v := range d.rhs {
		switch {
		case bland && v < -feasible && (best < 0 || d.basic[i] < d.basic[best]):
			best = i
		case !bland && v < least:
			best, least = i, v
		}
	}
	return best
}

// dualEntering returns the column that the dual ratio test chooses for a violated row. It returns -1 if there is none.
// Of equal ratios it takes the free variable with the lowest number.
func (d *dictionary) dualEntering(row int) int {
	best, ratio := -1, infinite
	for j, v := range d.coef[row*d.columns : row*d.columns+d.columns] {
		if v >= -epsilon {
			continue
		}
		r := min(d.gain[j], 0) / v
		if best < 0 || r < ratio-epsilon || (r <= ratio && d.free[j] < d.free[best]) {
			best, ratio = j, r
		}
	}
	return best
}

// exchange pivots: the free variable of column col becomes basic, and the basic variable of the row becomes free.
func (d *dictionary) exchange(row, col int) {
	w := d.columns
	pr := d.coef[row*w : row*w+w]
	p := pr[col]
	for j := range pr {
		pr[j] /= p
	}
	pr[col] = 1 / p
	d.rhs[row] /= p
	d.filled = d.filled[:0]
	for j, v := range pr {
		if v != 0 && j != col {
			d.filled = append(d.filled, j)
		}
	}
	for i := range d.rhs {
		r := d.coef[i*w : i*w+w]
		f := r[col]
		if i == row || f == 0 {
			continue
		}
		if 2*len(d.filled) > w {
			for j, v := range pr[:len(r)] {
				r[j] -= float64(f * v)
			}
		} else {
			for _, j := range d.filled {
				r[j] -= float64(f * pr[j]) // the conversion prevents fused multiply-add: same result on any machine
			}
		}
		r[col] = -f * pr[col]
		d.rhs[i] -= float64(f * d.rhs[row])
	}
	f := d.gain[col]
	for _, j := range d.filled {
		d.gain[j] -= float64(f * pr[j])
	}
	d.gain[col] = -f * pr[col]
	d.basic[row], d.free[col] = d.free[col], d.basic[row]
}
