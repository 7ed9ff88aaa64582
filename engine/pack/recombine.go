package pack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// maxTogether is how many units two nodes may hold for every way of parting them to be tried, recombinations how many ways
// are tried in all.
const (
	maxTogether    = 8
	recombinations = 100_000
)

// recombine parts the units of two nodes anew between two shapes, the most wasteful nodes first, wherever that is cheaper.
// It is for nodes that hold few units each, where no order of filling finds what fits together.
func (t *tier) recombine(nodes []*opened) []*opened {
	r := recombiner{t: t, budget: t.opts.Effort * recombinations}
	var few []*opened
	out := nodes[:0:0]
	for _, o := range nodes {
		if o.units() <= maxTogether/2 && r.plain(o) {
			few = append(few, o)
		} else {
			out = append(out, o)
		}
	}
	if len(few) < 2 {
		return nodes
	}
	for _, o := range few {
		o.weigh()
	}
	slices.SortStableFunc(few, func(a, b *opened) int { return cmp.Compare(b.waste*b.price, a.waste*a.price) })
	for gained := true; gained && r.budget > 0; {
		gained = false
		for i := 0; i < len(few) && r.budget > 0; i++ {
			for j := i + 1; j < len(few) && r.budget > 0; j++ {
				if few[i].flavour != few[j].flavour {
					continue
				}
				if a, b := r.part(few[i], few[j]); a != nil {
					few[i], few[j] = a, b
					gained = true
				}
			}
		}
	}
	return append(out, few...)
}

// units is how many units the node holds.
func (o *opened) units() int {
	n := 0
	for _, part := range o.share {
		n += part.n
	}
	return n
}

// A recombiner is recombine at work.
type recombiner struct {
	t      *tier
	budget int
	// byPrice are the shapes of a flavour that are worth asking for, cheapest first.
	byPrice map[*flavour][]int
	units   []portion
	sum     []int64 // of the side that was asked about last
}

// plain reports whether the node's units all go to the same shapes and care for nobody.
func (r *recombiner) plain(o *opened) bool {
	return !o.flavour.diverse && !slices.ContainsFunc(o.share, func(part portion) bool {
		return part.lot.social() || len(part.kind.cargo) > 0 || part.kind.fit.on[o.shelf.index].flavour != o.flavour || part.lot.fit.picky
	})
}

// shapes returns the flavour's shapes, cheapest first, without those that a cheaper one makes pointless.
func (r *recombiner) shapes(o *opened) []int {
	if list, ok := r.byPrice[o.flavour]; ok {
		return list
	}
	all := o.shelf.pool.shapes
	var list []int
	o.flavour.allowed.each(func(j int) { list = append(list, j) })
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(o.flavour.price[a], o.flavour.price[b]) })
	kept := list[:0]
	for _, j := range list {
		if !slices.ContainsFunc(kept, func(k int) bool { _, _, more := short(all[j].room, all[k].room); return !more }) {
			kept = append(kept, j)
		}
	}
	if r.byPrice == nil {
		r.byPrice = map[*flavour][]int{}
	}
	r.byPrice[o.flavour] = kept
	return kept
}

// part returns two nodes, cheaper together, with the units of a and b; nil if there are none.
func (r *recombiner) part(a, b *opened) (x, y *opened) {
	r.units = r.units[:0]
	for _, o := range [...]*opened{a, b} {
		for _, part := range o.share {
			for range part.n {
				r.units = append(r.units, portion{lot: part.lot, kind: part.kind, band: part.band, n: 1})
			}
		}
	}
	n := len(r.units)
	if n < 3 {
		return nil, nil
	}
	list := r.shapes(a)
	total, best := 0.0, (a.price+b.price-a.fee-b.fee)*(1-same)
	for _, u := range r.units {
		total += u.kind.base
	}
	var ways, shapes [2]int
	for way := 1; way < 1<<(n-1); way++ { // the last unit stays on the second side
		r.budget--
		one, p := r.cheapest(a, list, way, best)
		if one < 0 || p+total-r.worth(way) >= best {
			continue
		}
		other, q := r.cheapest(a, list, 1<<n-1-way, best-p)
		if other >= 0 && p+q < best {
			best, ways, shapes = p+q, [2]int{way, 1<<n - 1 - way}, [2]int{one, other}
		}
	}
	if ways[0] == 0 {
		return nil, nil
	}
	return r.node(a, ways[0], shapes[0]), r.node(a, ways[1], shapes[1])
}

// worth sums the worth of the units of a side, given as bits.
func (r *recombiner) worth(side int) float64 {
	sum := 0.0
	for ; side != 0; side &= side - 1 {
		sum += r.units[bits.TrailingZeros(uint(side))].kind.base
	}
	return sum
}

// cheapest returns the first of list that holds a side for less than limit, -1 if none does.
func (r *recombiner) cheapest(o *opened, list []int, side int, limit float64) (int, float64) {
	need := r.need(side)
	for _, j := range list {
		price := o.flavour.price[j]
		if price >= limit {
			break
		}
		if _, _, missing := short(need, o.shelf.pool.shapes[j].room); !missing {
			return j, price
		}
	}
	return -1, math.Inf(1)
}

func (r *recombiner) need(side int) []int64 {
	need := r.sum[:0]
	for range r.t.cols {
		need = append(need, 0)
	}
	r.sum = need
	for ; side != 0; side &= side - 1 {
		subtract(need, r.units[bits.TrailingZeros(uint(side))].kind.need.amount, -1)
	}
	return need
}

// node returns a node like o with the units of a side.
func (r *recombiner) node(o *opened, side, shape int) *opened {
	out := &opened{shelf: o.shelf, shape: shape, flavour: o.flavour, fee: o.fee, price: o.flavour.price[shape] + o.fee}
	for ; side != 0; side &= side - 1 {
		u := r.units[bits.TrailingZeros(uint(side))]
		if i := slices.IndexFunc(out.share, func(part portion) bool { return part.lot == u.lot }); i >= 0 {
			out.share[i].n++
		} else {
			out.share = append(out.share, u)
		}
	}
	out.weigh()
	return out
}
