package pack

import (
	"cmp"
	"math"
	"slices"
)

// Few nodes are better than many: each has its daemons, its volumes and its share of trouble. Where a plan is small, a node
// counts as if it cost bias more, in dollars per hour. For a plan that costs small per hour or more that has faded out: there,
// price decides alone.
const (
	bias  = 0.06
	small = 1.0
)

// setFee sets what a node counts besides its price.
func (t *tier) setFee() {
	t.fee = t.opts.NodeFee
	t.rank()
	if !t.price() {
		return
	}
	cost := 0.0
	for _, k := range t.kinds {
		cost += float64(k.value * float64(k.left))
	}
	t.fee += bias * max(0, 1-cost/small)
	t.listed = 0
}

// list finds what each shop charges the groups that have units left which it holds, and at which prices it is on the market.
func (t *tier) list() {
	for _, s := range t.shops {
		if s.charge == nil {
			s.charge = make([]float64, t.groups)
		}
		for g := range s.charge {
			s.charge[g] = math.Inf(1)
		}
	}
	for _, on := range t.shelves {
		booths := t.booths(on)
		for _, s := range t.shops {
			if s.shelf != on {
				continue
			}
			for i := range booths {
				if b := &booths[i]; b.holds.has(s.shape) {
					s.charge[b.group] = min(s.charge[b.group], b.flavour.price[s.shape]+t.fee)
				}
			}
		}
	}
	for _, s := range t.shops {
		s.setStalls()
	}
}

// market returns the relaxation for what is left.
func (t *tier) market(closed func(*shop) bool) *market {
	m := &market{columns: t.width, needs: make([][]float64, t.groups), stalls: t.work.stalls[:0]}
	for g := range m.needs {
		m.needs[g] = make([]float64, t.width)
	}
	for _, k := range t.byValue {
		for r, v := range k.weigh {
			m.needs[k.group][r] += float64(v * float64(k.left))
		}
	}
	for _, s := range t.shops {
		if !closed(s) {
			m.stalls = append(m.stalls, s.stalls...)
		}
	}
	t.work.stalls = m.stalls
	return m
}

// setStalls lists the shop at each of the prices that its groups pay, with the groups that pay no more.
func (s *shop) setStalls() {
	s.stalls, s.groups, s.set = s.stalls[:0], s.groups[:0], 0
	for g, v := range s.charge {
		if !math.IsInf(v, 1) {
			s.groups, s.set = append(s.groups, g), s.set|1<<g
		}
	}
	for _, level := range s.charge {
		if math.IsInf(level, 1) || slices.ContainsFunc(s.stalls, func(st stall) bool { return st.price == level }) {
			continue
		}
		st := stall{room: s.room, price: level}
		for g, v := range s.charge {
			if v <= level {
				st.groups = append(st.groups, g)
				st.set |= 1 << g
			}
		}
		s.stalls = append(s.stalls, st)
	}
}

// soldOut reports whether limits or a reservation allow no more of the shop's shape.
func soldOut(s *shop) bool {
	pool := s.shelf.pool
	sh := pool.shapes[s.shape]
	if len(pool.remaining) == 0 && sh.reserved == nil {
		return false
	}
	n, _ := pool.affords(sh)
	return n == 0
}

// price finds the worth of every kind for what is left. It returns false when nothing can be opened.
func (t *tier) price() bool {
	if t.total <= t.listed/2 || t.listed == 0 {
		t.list()
		t.listed = t.total
	}
	m := t.market(soldOut)
	if len(m.stalls) == 0 {
		return false
	}
	worth, _ := m.solve()
	for _, k := range t.byValue {
		k.value = max(dot(worth[k.group], k.weigh), minPrice) // a pod that asks for nothing scarce still wants a place
		k.stuck = false
	}
	var top ceilings
	for _, s := range t.shops {
		if s.best == nil {
			s.best = make([]float64, t.width)
		}
		copy(s.best, top.of(s.set, s.groups, worth))
		s.worth = dot(s.best, s.room)
	}
	t.sort()
	t.rankShops()
	t.priced = t.total
	if t.listed == 0 {
		t.listed = t.total
	}
	return true
}

// rank orders the kinds that have units left, most worth first.
func (t *tier) rank() {
	t.byValue = t.byValue[:0]
	for _, k := range t.kinds {
		if k.left > 0 {
			t.byValue = append(t.byValue, k)
		}
	}
	t.sort()
}

// sort orders those kinds of byValue that still have units left.
func (t *tier) sort() {
	t.byValue = slices.DeleteFunc(t.byValue, func(k *kind) bool { return k.left == 0 })
	slices.SortFunc(t.byValue, func(a, b *kind) int {
		if a.value != b.value {
			return cmp.Compare(b.value, a.value)
		}
		return a.index - b.index
	})
	t.tally()
}

// tally sums the worth of what is left.
func (t *tier) tally() {
	t.total = 0
	for _, k := range t.byValue {
		t.total += float64(k.value * float64(k.left))
	}
}

// rankShops orders the shapes by the most worth that a dollar can buy there, the largest of equals first.
func (t *tier) rankShops() {
	t.ranked = 0
	for _, s := range t.shops {
		s.bound = min(s.worth, t.total) / (s.price + t.fee)
		t.ranked = max(t.ranked, s.worth)
	}
	slices.SortFunc(t.shops, func(a, b *shop) int {
		switch {
		case a.bound != b.bound:
			return cmp.Compare(b.bound, a.bound)
		case a.worth != b.worth:
			return cmp.Compare(b.worth, a.worth)
		}
		return a.index - b.index
	})
}
