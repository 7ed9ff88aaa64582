package pack

import "slices"

// A parcel is units that share a node: their kinds, and the cheapest bin that holds them.
type parcel struct {
	bin    *bin
	size   int
	member [maxSet]int32
}

// How often worths are found from sets, and how often nodes are then opened by them: less often where there is much to look at,
// about so many pairs in all.
const (
	leastAppraisals, mostAppraisals, appraised = 3, 6, 2_000_000
	leastComposed, mostComposed, composed      = 3, 12, 3_000_000
)

// revaluation is how far worths move each time towards what units really cost.
const revaluation = 0.1

// compose returns nodes for the units of these nodes, opened anew by what fits together; nil if that finds nothing cheaper. No
// unit has its place before and after.
func (t *tier) compose(nodes []*opened) []*opened {
	a := newAppraiser(t)
	if a == nil {
		return nil
	}
	a.learn(nodes)
	least := cost(nodes)
	many := func(least, most, all int) int { return t.opts.Effort * max(least, min(most, all/t.pairs())) }
	for range many(leastAppraisals, mostAppraisals, appraised) {
		a.propose()
		a.settle(least)
	}
	var best []parcel
	for range many(leastComposed, mostComposed, composed) {
		list, sum := a.plan()
		if sum < least*(1-same) {
			best, least = list, sum
		}
		a.revalue(list)
	}
	if len(best) == 0 || len(best) > t.opts.MaxPatterns {
		return nil
	}
	out := make([]*opened, len(best))
	for i := range best {
		out[i] = a.node(&best[i])
		t.move(out[i], 1) // what the next one finds is left
	}
	for _, o := range out {
		t.move(o, -1)
	}
	return out
}

// learn makes what is together on these nodes known.
func (a *appraiser) learn(nodes []*opened) {
	a.restock()
	for _, o := range nodes {
		var kinds []int32
		for _, part := range o.share {
			for range part.n {
				kinds = append(kinds, int32(part.kind.index))
			}
		}
		a.pool.add(kinds, o.price, a.left)
	}
}

// plan opens node after node: around the unit that is worth most of those left, with what makes most of a dollar. It returns
// what shares a node, and what all nodes cost.
func (a *appraiser) plan() (list []parcel, cost float64) {
	a.restock()
	a.sort()
	gone, first := 0, 0
	for {
		for first < len(a.open) && a.left[a.open[first].kind] == 0 {
			first++
		}
		if first == len(a.open) {
			return list, cost
		}
		if gone*stale > len(a.open) {
			a.sort()
			gone, first = 0, 0
		}
		p := a.around(first)
		for _, k := range p.member[:p.size] {
			if a.left[k]--; a.left[k] == 0 {
				gone++
			}
		}
		list, cost = append(list, p), cost+p.bin.price
	}
}

// stale is the share of the kinds, one in so many, that may be gone before what is left is listed anew.
const stale = 8

// around returns the best parcel with a unit of an article.
func (a *appraiser) around(first int) parcel {
	var best parcel
	ratio, tries := 0.0, 0
	one := &a.open[first]
	for i := range a.bins {
		b := &a.bins[i]
		if b.x < one.x || b.y < one.y {
			continue
		}
		if tries++; tries > maxBins {
			break
		}
		f := a.pairs(b, first, ratio, nil)
		if f.size == 0 {
			continue
		}
		p := a.parcel(&f)
		if r := f.ratio * b.price / p.bin.price; best.bin == nil || r > ratio*(1+same) {
			best, ratio = p, r
		}
	}
	return best
}

// parcel returns what the set puts together.
func (a *appraiser) parcel(f *find) parcel {
	p := parcel{size: f.size}
	var x, y int64
	for i, m := range f.member[:f.size] {
		o := &a.open[m]
		x, y, p.member[i] = x+o.x, y+o.y, int32(o.kind)
	}
	p.bin = a.cheapest(x, y)
	return p
}

// revalue moves the worth of each kind towards what its units cost in these parcels, if the price of each is parted by worth.
func (a *appraiser) revalue(list []parcel) {
	paid := make([]float64, len(a.worth))
	for i := range list {
		p := &list[i]
		held := 0.0
		for _, k := range p.member[:p.size] {
			held += a.worth[k]
		}
		for _, k := range p.member[:p.size] {
			paid[k] += a.worth[k] * p.bin.price / held
		}
	}
	for i, k := range a.t.kinds {
		a.worth[i] += float64(revaluation * (paid[i]/float64(k.left) - a.worth[i]))
	}
}

// node opens the parcel.
func (a *appraiser) node(p *parcel) *opened {
	s := p.bin.shop
	o := &opened{shelf: s.shelf, shape: s.shape, flavour: a.t.kinds[p.member[0]].fit.on[s.shelf.index].flavour, fee: a.t.fee, price: p.bin.price}
	for _, m := range p.member[:p.size] {
		a.put(o, a.t.kinds[m])
	}
	o.resize()
	return o
}

// put puts one more unit of k on o.
func (a *appraiser) put(o *opened, k *kind) {
	o.value += k.value
	for i := range k.bands {
		b := &k.bands[i]
		for _, l := range b.left() {
			at := slices.IndexFunc(o.share, func(part portion) bool { return part.lot == l })
			switch {
			case at < 0 && l.left() > 0:
				o.share = append(o.share, portion{lot: l, kind: k, band: b, n: 1})
				return
			case at >= 0 && o.share[at].n < l.left():
				o.share[at].n++
				return
			}
		}
	}
}
