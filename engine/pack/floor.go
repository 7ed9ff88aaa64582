package pack

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
	t := &tier{problem: p, shelves: p.shelves, width: len(p.cols)}
	var lots []*lot
	for _, l := range p.lots {
		if placed[l] > 0 {
			lots = append(lots, l)
		}
	}
	t.gather(lots)
	for _, k := range t.kinds {
		k.left = 0
		for _, l := range k.lots {
			k.left += placed[l]
		}
	}
	t.rank()
	t.classifyKinds()
	t.openShops()
	t.list()
	m := t.market(func(s *shop) bool { return s.shelf.pool.shapes[s.shape].reserved != nil })
	if len(m.stalls) == 0 {
		return sum
	}
	_, cost := m.solve()
	return sum + cost
}
