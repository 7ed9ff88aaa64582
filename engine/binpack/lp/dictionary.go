package lp

// epsilon is the magnitude below which a dictionary coefficient counts as zero. Typical coefficients are near one.
const epsilon = 1e-12

// negligible is the gain that counts as zero, relative to the largest coefficient of the objective. Gains are sums of
// many products. Their rounding errors must not cause pivots.
const negligible = 1e-11

// feasible is the absolute tolerance for a negative basic variable. It exceeds the rounding errors of some hundred
// pivots.
const feasible = 1e-9

// A dictionary is the state of the simplex method. The comment of Program gives the equations in at, right, gain, basic
// and free.
type dictionary struct {
	columns     int
	at          []float64 // the coefficients, row by row
	right       []float64
	gain        []float64
	basic, free []int
	filled      []int   // the columns with nonzero entries in the pivot row
	least       float64 // gains up to this are taken for zero
	solved      bool    // the dictionary matches the current rows and objective
}

// start sets the dictionary to the basis y = 0, in which all slacks are basic.
func (d *dictionary) start(rows [][]float64, bounds, objective []float64) {
	d.columns, d.solved = len(objective), true
	d.at = d.at[:0]
	for _, row := range rows {
		d.at = append(d.at, row...)
	}
	d.right = append(d.right[:0], bounds...)
	d.gain = append(d.gain[:0], objective...)
	d.setLeast(objective)
	d.basic, d.free = d.basic[:0], d.free[:0]
	for i := range rows {
		d.basic = append(d.basic, d.columns+i)
	}
	for j := range d.columns {
		d.free = append(d.free, j)
	}
}

// express adds the row a·y <= b in terms of the free variables. The variable slack is basic in it.
func (d *dictionary) express(a []float64, b float64, slack int) {
	from := len(d.at)
	for _, v := range d.free {
		coefficient := 0.0
		if v < d.columns {
			coefficient = a[v]
		}
		d.at = append(d.at, coefficient)
	}
	row := d.at[from:]
	for i, v := range d.basic {
		if v >= d.columns || a[v] == 0 {
			continue
		}
		f := a[v]
		for j, x := range d.at[i*d.columns : i*d.columns+d.columns] {
			row[j] -= float64(f * x)
		}
		b -= float64(f * d.right[i])
	}
	d.right, d.basic = append(d.right, b), append(d.basic, slack)
}

// price computes the gains of the free variables for the objective c.
func (d *dictionary) price(c []float64, width int) {
	d.setLeast(c)
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
		for j, x := range d.at[i*d.columns : i*d.columns+d.columns] {
			d.gain[j] -= float64(f * x)
		}
	}
}

func (d *dictionary) setLeast(objective []float64) {
	d.least = 0
	for _, v := range objective {
		d.least = max(d.least, v*negligible)
	}
}

// choose returns the entering column and the leaving row of the next pivot. The column is -1 at the optimum. The row
// is -1 if the objective is unbounded. The column is the one that raises the objective most (the greatest-improvement
// rule). With few columns this saves more pivots than it costs. With bland it is the one whose variable has the
// lowest number.
func (d *dictionary) choose(bland bool) (row, col int) {
	row, col = -1, -1
	most := 0.0
	for j, v := range d.gain {
		if v <= d.least || bland && col >= 0 && d.free[j] > d.free[col] {
			continue
		}
		i := d.leaving(j)
		if i < 0 {
			return -1, j
		}
		rise := v * max(d.right[i], 0) / d.at[i*d.columns+j]
		if bland || col < 0 || rise > most || rise == most && v > d.gain[col] {
			row, col, most = i, j, rise
		}
	}
	return row, col
}

// leaving returns the row of the ratio test for the entering column, -1 if no row bounds it. Ties go to the basic
// variable with the lowest number.
func (d *dictionary) leaving(col int) int {
	best, ratio := -1, infinite
	for i := range d.right {
		v := d.at[i*d.columns+col]
		if v <= epsilon {
			continue
		}
		r := max(d.right[i], 0) / v
		if best < 0 || r < ratio-epsilon || (r <= ratio && d.basic[i] < d.basic[best]) {
			best, ratio = i, r
		}
	}
	return best
}

// violated returns the row with the most negative basic variable, -1 if none is negative. With bland it returns the
// negative one whose variable has the lowest number.
func (d *dictionary) violated(bland bool) int {
	best, least := -1, -feasible
	for i, v := range d.right {
		switch {
		case bland && v < -feasible && (best < 0 || d.basic[i] < d.basic[best]):
			best = i
		case !bland && v < least:
			best, least = i, v
		}
	}
	return best
}

// dualEntering returns the entering column of the dual ratio test for a violated row, -1 if there is none. Ties go to
// the free variable with the lowest number.
func (d *dictionary) dualEntering(row int) int {
	best, ratio := -1, infinite
	for j, v := range d.at[row*d.columns : row*d.columns+d.columns] {
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

// exchange pivots: the free variable of the column becomes basic, and the basic variable of the row becomes free.
func (d *dictionary) exchange(row, col int) {
	w := d.columns
	pr := d.at[row*w : row*w+w]
	p := pr[col]
	for j := range pr {
		pr[j] /= p
	}
	pr[col] = 1 / p
	d.right[row] /= p
	d.filled = d.filled[:0]
	for j, v := range pr {
		if v != 0 && j != col {
			d.filled = append(d.filled, j)
		}
	}
	for i := range d.right {
		r := d.at[i*w : i*w+w]
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
		d.right[i] -= float64(f * d.right[row])
	}
	f := d.gain[col]
	for _, j := range d.filled {
		d.gain[j] -= float64(f * pr[j])
	}
	d.gain[col] = -f * pr[col]
	d.basic[row], d.free[col] = d.free[col], d.basic[row]
}

// renumber removes the rows whose slack is gone. The slack of old row i becomes variable number[i].
func (d *dictionary) renumber(width int, gone []bool, number []int) {
	n := 0
	for i, v := range d.basic {
		if v >= width && gone[v-width] {
			continue
		}
		if v >= width {
			v = number[v-width]
		}
		copy(d.at[n*d.columns:(n+1)*d.columns], d.at[i*d.columns:(i+1)*d.columns])
		d.right[n], d.basic[n] = d.right[i], v
		n++
	}
	d.at, d.right, d.basic = d.at[:n*d.columns], d.right[:n], d.basic[:n]
	for j, v := range d.free {
		if v >= width {
			d.free[j] = number[v-width]
		}
	}
}
