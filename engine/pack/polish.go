package pack

import "slices"

// maxSwaps bounds how often a pattern is changed.
const maxSwaps = 24

// polish trades units of a pattern for others that make more of the room: it swaps the pair of kinds that gains most worth,
// as often as it can, then fills what has become free, until nothing gains. Units that care who is on their node stay, and the
// room that cargo takes stays taken.
func (t *tier) polish(o *opened) {
	if o.flavour.diverse && !t.opts.RelaxMinValues {
		return
	}
	f := &filling{opened: *o, refused: t.work.refused, stamp: t.spin}
	f.share = slices.Clone(o.share)
	f.room = append(t.work.room[:0], o.shelf.pool.shapes[o.shape].room...)
	f.aboard = o.shelf.pool.shapes[o.shape].aboard
	for _, part := range o.share {
		subtract(f.room, part.lot.need.amount, part.n)
		f.stow(part.kind)
	}
	// What the pattern looked at is still there, and so is how many units of it were used.
	f.open = t.work.trade[:0]
	for _, k := range t.work.open {
		if k.left > k.used && !k.social && f.aboard.has(k.cargo) && o.shelf.join(o.flavour, k.fit.on[o.shelf.index].flavour) == o.flavour {
			f.open = append(f.open, k)
		}
	}
	t.work.trade = f.open
	for range maxSwaps {
		if !t.swap(f) {
			break
		}
	}
	if f.value > o.value {
		f.share = slices.DeleteFunc(f.share, func(part portion) bool { return part.n == 0 })
		o.share, o.value = f.share, f.value
		o.cargo = nil
		for _, part := range o.share {
			o.cargo = o.cargo.with(part.lot.need.cargo)
		}
	}
}

// swap makes the best trade of one kind for another. It returns false if none gains.
func (t *tier) swap(f *filling) bool {
	out, in, times, gain := -1, -1, 0, 0.0
	for i := range f.share {
		a := f.share[i].kind
		if f.share[i].n == 0 || f.share[i].lot.social() {
			continue
		}
		for j, b := range f.open {
			if b.value <= a.value || b == a {
				continue
			}
			n := min(f.share[i].n, b.left-b.used)
			for r, v := range b.amount {
				if more := v - a.amount[r]; more > 0 {
					if more > f.room[r] {
						n = 0
						break
					}
					n = int(min(int64(n), f.room[r]/more))
				}
			}
			if g := float64(n) * (b.value - a.value); g > gain*(1+same) {
				out, in, times, gain = i, j, n, g
			}
		}
	}
	if out < 0 {
		return false
	}
	a, b := f.share[out].kind, f.open[in]
	f.share[out].n -= times
	a.used -= times
	f.value -= float64(a.value * float64(times))
	subtract(f.room, a.amount, -times)
	return t.add(f, b, times) > 0
}
