package pack

import "slices"

// floor returns a price that no set of new nodes for the pods of the opened nodes goes below: the linear relaxation over
// all pools, whatever their weight, with the daemons' share taken out of every shape, and a shape priced only for pods of
// which it can hold one. Nodes that draw from reservations count as they are: what they hold is not to be had again.
func (p *problem) floor(nodes []*opened) float64 {
	placed := map[*lot]int{}
	sum := 0.0
	for _, o := range nodes {
		if o.shelf.pool.shapes[o.shape].reserved != nil {
			sum += o.price - o.fee
			continue
		}
		for _, part := range o.share {
			placed[part.lot] += part.n
		}
	}
	if len(placed) == 0 {
		return sum
	}
	return sum + p.relaxed(func(l *lot) int { return placed[l] })
}

// floorAhead has the floor found beside the opening of nodes, for the case that all pods of lots get one and no reservation is
// used: whole waits for it then. It looks at nothing that opening nodes changes.
func (p *problem) floorAhead() {
	if len(p.lots) == 0 || slices.ContainsFunc(p.shelves, (*shelf).limited) {
		return
	}
	var floor float64
	wait := aside(func() { floor = p.relaxed(func(l *lot) int { return len(l.pods) / l.unit }) })
	p.whole = func() float64 {
		wait()
		return floor
	}
}

// floored has the floor for the pods of all opened nodes found; the func that is returned waits for it.
func (p *problem) floored() (wait func() float64) {
	if whole := p.whole; whole != nil {
		p.whole = nil
		if !slices.ContainsFunc(p.lots, func(l *lot) bool { return l.left() > 0 }) {
			return whole
		}
		whole() // nothing goes on behind the caller's back
	}
	var floor float64
	done := aside(func() { floor = p.floor(p.nodes) })
	return func() float64 {
		done()
		return floor
	}
}

// relaxed returns the cost of the linear relaxation for so many units of each lot.
func (p *problem) relaxed(units func(*lot) int) float64 {
	t := &tier{problem: p, shelves: p.shelves, width: len(p.cols)}
	at := map[[2]int]*kind{}
	for _, l := range p.lots {
		n := units(l)
		if n == 0 {
			continue
		}
		key := [2]int{l.need.id, l.fit.id}
		k := at[key]
		if k == nil {
			k = t.newKind(l, 0)
			at[key] = k
		}
		k.left += n
	}
	t.rank()
	t.classifyKinds()
	t.openShops()
	t.list()
	m := t.market(func(s *shop) bool { return s.shelf.pool.shapes[s.shape].reserved != nil })
	if len(m.stalls) == 0 {
		return 0
	}
	_, cost := m.solve()
	return cost
}
