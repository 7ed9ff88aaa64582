package pack

import (
	"math"
	"slices"
)

// An order fills a shape: it adds units to the pattern until nothing more goes in.
type order func(t *tier, f *filling)

// orders are the ways in which a shape is filled; the best outcome counts. Matching the shape of the room that is left keeps
// one resource from running out early (Panigrahy et al. 2011, the dot product heuristic).
var orders = [...]order{byShare, bySearch}

// work is memory that is used again for each pattern.
type work struct {
	open   []*kind
	trade  []*kind
	cands  []*kind
	scores []float64
	search search
	ruin   []int
	// refused is for fillings.
	refused []int
	manner  []byte
	stalls  []stall
	booths  []booth
	room    []int64
	left    []float64
	// inverse is one over the whole room of a shape, by column.
	inverse []float64
}

func newWork(t *tier) work {
	return work{room: make([]int64, len(t.cols)), left: make([]float64, len(t.cols)), inverse: make([]float64, len(t.cols)),
		refused: make([]int, t.manners)}
}

// A filling is a pattern in the making.
type filling struct {
	opened
	shop   *shop
	room   []int64
	aboard cargo   // the pods' and the daemons', which room is without
	open   []*kind // most worth first
	guests guests
	// refused has, for each manner that those who are there did not bear in the pattern with number stamp, that number. They
	// become no fewer, so it stays so.
	refused []int
	stamp   int
}

// maxOpen is about how many kinds one pattern looks at. Of more, each pattern sees a sample, always another one: among so
// many, something always fits.
const maxOpen = 600

// pattern fills the shop's shape with one unit of star and then in the given order, and returns what came of it, nil if not one unit went in.
func (t *tier) pattern(s *shop, star *kind, fill order) *opened {
	t.spin++
	f := &filling{shop: s, refused: t.work.refused, stamp: t.spin}
	f.shelf, f.shape = s.shelf, s.shape
	f.room = append(t.work.room[:0], s.shelf.pool.shapes[s.shape].room...)
	f.aboard = s.shelf.pool.shapes[s.shape].aboard
	if with := s.shelf.guestsIn(star.fit.on[s.shelf.index].flavour, s.shape); with != nil {
		f.guests = slices.Clone(with)
	}
	f.open = t.work.open[:0]
	stride := 1 + len(t.byValue)/t.sample
	for i := (t.spin - 1) % stride; i < len(t.byValue); i += stride {
		k := t.byValue[i]
		if k.left > 0 && k.fit.on[s.shelf.index].flavour != nil && k.fit.on[s.shelf.index].holds.has(s.shape) {
			k.used = 0
			f.open = append(f.open, k)
		}
	}
	t.work.open = f.open
	t.made += len(f.open) + 8
	star.used = 0
	if !f.fits(star) || t.add(f, star, 1) == 0 {
		return nil
	}
	f.fee = t.fee
	f.price = f.flavour.price[s.shape] + t.fee
	fill(t, f)
	f.price = f.flavour.price[s.shape] + t.fee
	o := f.opened
	return &o
}

// fits reports whether one more unit of k has room.
func (f *filling) fits(k *kind) bool {
	if k.used >= k.left {
		return false
	}
	for r, v := range k.amount {
		if v > f.room[r] {
			return false
		}
	}
	return len(k.cargo) == 0 || k.cargo.beside(f.aboard).fits(k.amount, f.room)
}

// copies returns how many more units of k have room.
func (f *filling) copies(k *kind) int {
	if len(k.cargo) == 0 {
		return copies(k.amount, f.room, k.left-k.used)
	}
	return copiesBeside(k.amount, f.room, k.cargo.beside(f.aboard), k.left-k.used)
}

// stow takes the crates of k aboard.
func (f *filling) stow(k *kind) {
	if fresh := k.cargo.beside(f.aboard); len(fresh) > 0 {
		fresh.take(f.room, 1)
		f.aboard = f.aboard.with(fresh)
	}
	f.cargo = f.cargo.with(k.cargo)
}

// shut reports whether those who are there bear no unit of k.
func (f *filling) shut(k *kind) bool {
	for i := range k.bands {
		if f.refused[k.bands[i].manner] != f.stamp {
			return false
		}
	}
	return true
}

// add puts at most n units of k on and returns how many.
//
// It narrows the pattern's flavour if the kind asks for labels. A kind that would make the node dearer by more than its
// units are worth stays out.
func (t *tier) add(f *filling, k *kind, n int) int {
	own := k.fit.on[f.shelf.index].flavour
	fl := own
	if f.flavour != nil && f.flavour != own {
		if fl = f.shelf.join(f.flavour, own); fl == nil {
			return 0
		}
		before, after := f.flavour.price[f.shape], fl.price[f.shape]
		if after > inf || after-before > float64(k.value*float64(n)) {
			return 0
		}
	}
	if fl.diverse && !t.opts.RelaxMinValues {
		if n = t.keepDiverse(f, fl, k, n); n == 0 {
			return 0
		}
	}
	added := 0
	for i := range k.bands {
		b := &k.bands[i]
		if f.refused[b.manner] == f.stamp {
			continue
		}
		for _, l := range b.left() {
			m := f.spare(l)
			if m == 0 {
				continue
			}
			got := f.put(k, b, l, min(m, n-added))
			if added += got; got == 0 || added == n {
				break // who is refused, his like are too
			}
		}
		if added == n {
			break
		}
	}
	if added > 0 {
		f.flavour = fl
		k.used += added
		subtract(f.room, k.amount, added)
		if len(k.cargo) > 0 {
			f.stow(k)
		}
		f.value += float64(k.value * float64(added))
	}
	return added
}

// spare returns how many units of l are not in the pattern yet.
func (f *filling) spare(l *lot) int {
	n := l.left()
	for i := range f.share {
		if f.share[i].lot == l {
			n -= f.share[i].n
		}
	}
	return n
}

// put adds up to n units of l, as many as the pods that are there bear.
func (f *filling) put(k *kind, b *band, l *lot, n int) int {
	if l.social() {
		if n = f.guests.admit(l, n); n == 0 {
			f.refused[b.manner] = f.stamp
			return 0
		}
		f.guests = f.guests.add(l, n)
	}
	for i := range f.share {
		if f.share[i].lot == l {
			f.share[i].n += n
			return n
		}
	}
	f.share = append(f.share, portion{lot: l, kind: k, band: b, n: n})
	return n
}

// byWorth takes the kind whose unit is worth most for as long as it goes in, then the next.
func byWorth(t *tier, f *filling) {
	for _, k := range f.open {
		if f.fits(k) {
			t.add(f, k, f.copies(k))
		}
	}
}

// byShare goes through the kinds by size, in classes of which each is worth half of the one before, and gives each its
// share of the node: as much as it has of all that is left. So no node takes the small units that others need to fill their
// gaps. Within a class it takes what matches the room that is left.
func byShare(t *tier, f *filling) {
	total := 0.0
	for _, k := range f.open {
		total += float64(k.value * float64(k.left))
	}
	worth := min(f.shop.worth, total)
	due := 0.0
	all := f.open
	for len(f.open) > 0 {
		n := 1
		for n < len(f.open) && f.open[n].value > f.open[0].value/2 {
			n++
		}
		class := 0.0
		for _, k := range f.open[:n] {
			class += float64(k.value * float64(k.left))
		}
		due += worth * class / total
		t.match(f, f.open[:n], due)
		f.open = f.open[n:]
	}
	f.open = all
	t.match(f, f.open, math.Inf(1))
}

// match adds units of the kinds in open until the pattern is worth due or nothing more goes in. It takes the kind whose needs
// point most nearly in the direction of the room that is left, in units that make the whole shape one; half of what goes in,
// then it looks again.
func (t *tier) match(f *filling, open []*kind, due float64) {
	left, inverse := t.work.left, t.work.inverse
	for r := range inverse {
		inverse[r] = 0
		if v := f.shop.room[r]; v > 0 {
			inverse[r] = 1 / v
		}
	}
	cands, scores := append(t.work.cands[:0], open...), t.work.scores
	t.work.cands = cands
	for f.value < due {
		for r, v := range f.room {
			left[r] = float64(max(v, 0)) / t.units[r] * inverse[r] * inverse[r]
		}
		n := 0
		scores = scores[:0]
		for _, k := range cands {
			if f.fits(k) && !f.shut(k) {
				cands[n] = k
				scores = append(scores, k.match(left, inverse))
				n++
			}
		}
		cands = cands[:n]
		for added := 0; added == 0; {
			best, score := -1, -1.0
			for i, v := range scores {
				if v > score+epsilon {
					best, score = i, v
				}
			}
			if best < 0 {
				return
			}
			k := cands[best]
			many := (f.copies(k) + 1) / 2
			if enough := (due - f.value) / k.value; enough < float64(many) {
				many = max(1, int(math.Ceil(enough)))
			}
			if added = t.add(f, k, many); added == 0 { // its neighbours refuse it, and maybe others like it
				n := 0
				for i, k := range cands {
					if i != best && !f.shut(k) {
						cands[n], scores[n] = k, scores[i]
						n++
					}
				}
				cands, scores = cands[:n], scores[:n]
			}
		}
		t.work.scores = scores
	}
}

// match returns the square of the cosine of the angle between what a unit needs and what is left, both as shares of the whole
// shape, up to a factor that is the same for all kinds. Left comes divided by the whole twice, once for each side.
func (k *kind) match(left, inverse []float64) float64 {
	along, length := 0.0, 0.0
	for r, v := range k.scaled {
		w := v * inverse[r]
		along += float64(v * left[r])
		length += float64(w * w)
	}
	if length == 0 {
		return 0
	}
	return float64(along*along) / length
}

// keepDiverse returns the largest of n, n/2, n/4, ... units that leave as many different options for the node as the pool's
// minValues ask for.
func (t *tier) keepDiverse(f *filling, fl *flavour, k *kind, n int) int {
	sh := f.shelf.pool.shapes[f.shape]
	for ; n > 0; n /= 2 {
		used := slices.Clone(sh.room)
		subtract(used, f.room, 1)
		f.cargo.beside(sh.aboard).take(used, 1)
		subtract(used, k.amount, -n)
		options := f.shelf.options(fl, used, f.cargo.with(k.cargo), sh.reserved, nil).shapes
		if _, ok := minValues(fl, f.shelf.pool.afforded(options)); ok {
			return n
		}
	}
	return 0
}
