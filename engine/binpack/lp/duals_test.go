package lp

// Duals sets out[i] to the dual price of row i: by how much the optimum rises per unit of the row's right-hand side.
func (p *Program) Duals(out []float64) {
	clear(out)
	for j, v := range p.free {
		if v >= p.width {
			out[v-p.width] = max(-p.gain[j], 0)
		}
	}
}
