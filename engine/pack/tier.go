package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A tier is the pools of one weight at work: it opens nodes for the lots that fit one of them.
type tier struct {
	*problem
	shelves []*shelf
	kinds   []*kind
	caps    []capacity
	width   int // columns and caps
	// shops are the shapes that hold something, in a fixed order.
	shops []*shop
	// groups are the kinds that go to the same shapes at the same prices; they have one set of worths.
	groups  int
	manners int // how many kinds of manners there are
	byValue []*kind
	fee     float64 // what a node counts besides its price
	total   float64 // the worth of all that is left
	priced  float64 // what total was when worths were last found
	listed  float64 // what total was when shops last listed their charges
	ranked  float64 // the total below which the bounds of the shops are to be found anew
	spin    int     // how many patterns were made
	made    int     // how many kinds patterns have looked at
	tried   int     // how many shapes are filled before one is chosen
	work    work
	orders  []order
	stars   int     // how many kinds a pattern is built around before one is chosen
	sample  int     // about how many kinds one pattern looks at
	sparse  bool    // nodes hold few units, and who is with whom is all that matters
	ceiling float64 // what a pattern must hold of what it could at most, to be taken without looking further
}

// A shop is a shape on offer.
type shop struct {
	index int
	shelf *shelf
	shape int
	room  []float64 // columns and caps
	price float64   // the lowest of any kind
	bound float64   // no pattern of it holds more worth per dollar
	// charge is the price to each group that has units left, +Inf to one that it holds nothing of.
	charge []float64
	groups []int // those with a price, set the same
	set    groupSet
	stalls []stall // the same as the market sees it
	kinds  int     // how many it holds
	// best is the highest worth of a unit of each column, worth that of the whole room.
	best  []float64
	worth float64
	first []float64 // best as it was found first
}

// An opened node is a pattern that was taken: how many units of each lot share one shape.
type opened struct {
	shelf   *shelf
	shape   int
	flavour *flavour
	share   []portion
	cargo   cargo           // that its pods bring
	price   float64         // with the fee
	fee     float64         // the part of price that is no price
	value   float64         // the worth of what it holds
	waste   float64         // the share of the price that buys nothing, by the first worths
	toll    model.Resources // see takes
}

// A portion is a number of units of one lot.
type portion struct {
	lot  *lot
	kind *kind
	band *band
	n    int
}

// newTier makes ready to open nodes for the lots. It returns nil if there is none.
func newTier(p *problem, shelves []*shelf, lots []*lot) *tier {
	t := &tier{problem: p, shelves: shelves, width: len(p.cols)}
	if len(lots) == 0 {
		return nil
	}
	t.findCaps(lots)
	t.gather(lots)
	t.classifyKinds()
	t.openShops()
	t.work = newWork(t)
	t.setFee()
	t.care()
	return t
}

// many is how many nodes a cap must call for to be what the plan is about: then nodes are many and hold few units, and there
// is little to choose.
const many = 200

// A plan is sparse with few units to a node on average, and crowd units at least. Each pattern then looks at up to allKinds.
const (
	few      = 6
	crowd    = 100
	allKinds = 6000
)

// care sets how many patterns are made for each node.
func (t *tier) care() {
	switch {
	case slices.ContainsFunc(t.caps, func(c capacity) bool { return c.nodes >= many }):
		t.usual()
		t.stars, t.tried, t.orders = 1, 1, orders[:1]
	case t.isSparse():
		t.sparse, t.sample, t.ceiling = true, allKinds, near
		t.stars, t.tried, t.orders = 1, 6, []order{bySearch}
	default:
		t.usual()
	}
}

// usual sets it as for most plans.
func (t *tier) usual() {
	t.sparse, t.sample, t.ceiling = false, maxOpen, near
	t.stars, t.tried, t.orders = 2, max(4, min(10, 4000/len(t.kinds))), orders[:]
}

// isSparse reports whether nodes will hold few units, all of which go to the same shapes, care for nobody and share nothing.
func (t *tier) isSparse() bool {
	units := 0
	for _, k := range t.kinds {
		units += k.left
		if k.social || len(k.cargo) > 0 || slices.ContainsFunc(t.shelves, func(s *shelf) bool {
			f := k.fit.on[s.index].flavour
			return f != t.kinds[0].fit.on[s.index].flavour || f != nil && f.diverse
		}) {
			return false
		}
	}
	return units >= crowd && len(t.shops) > 0 && t.shops[0].worth*float64(units) <= few*t.total
}

// openShops lists the shapes that hold something.
func (t *tier) openShops() {
	for _, s := range t.shelves {
		held := sums{}
		for _, k := range t.kinds {
			if f := &k.fit.on[s.index]; f.flavour != nil {
				held.add(f.holds)
			}
		}
		booths := t.booths(s)
		for j := range s.pool.shapes {
			if n := held.of(j); n > 0 {
				shop := t.newShop(s, j, n)
				for i := range booths {
					if b := &booths[i]; b.holds.has(j) {
						shop.price = min(shop.price, b.flavour.price[j])
					}
				}
				t.shops = append(t.shops, shop)
			}
		}
	}
	t.dropDominated()
	for i, s := range t.shops {
		s.index = i
	}
}

// A booth is the kinds of one group that go onto a shelf in one flavour, with the shapes that hold some of them.
type booth struct {
	flavour *flavour
	group   int
	holds   mask
}

// booths returns those of a shelf, for the kinds that have units left. The result is good until the next call.
func (t *tier) booths(s *shelf) []booth {
	out := t.work.booths[:0]
	for _, k := range t.kinds {
		f := &k.fit.on[s.index]
		if k.left == 0 || f.flavour == nil {
			continue
		}
		i := slices.IndexFunc(out, func(b booth) bool { return b.flavour == f.flavour && b.group == k.group })
		if i < 0 {
			i = len(out)
			out = append(out, booth{flavour: f.flavour, group: k.group, holds: newMask(len(s.pool.shapes))})
		}
		for w, v := range f.holds {
			out[i].holds[w] |= v
		}
	}
	t.work.booths = out
	return out
}

func (t *tier) newShop(s *shelf, shape, kinds int) *shop {
	sh := &shop{shelf: s, shape: shape, price: math.Inf(1), kinds: kinds, room: slices.Clone(s.pool.shapes[shape].scaled)}
	for _, c := range t.caps {
		sh.room = append(sh.room, float64(c.each))
	}
	return sh
}

// dropDominated leaves out shapes that have no more room than a cheaper one that holds the same kinds, in the same flavour.
// They stay options of the nodes that are planned.
func (t *tier) dropDominated() {
	if t.groups > 1 {
		return // what is dominated for one group may serve another
	}
	byPrice := slices.Clone(t.shops)
	slices.SortStableFunc(byPrice, func(a, b *shop) int { return cmp.Compare(a.price, b.price) })
	var kept, rivals []*shop
	for _, s := range byPrice {
		if slices.ContainsFunc(rivals, func(o *shop) bool { return o.dominates(s) }) {
			continue
		}
		kept = append(kept, s)
		if s.shelf.pool.remaining == nil && s.shelf.pool.shapes[s.shape].reserved == nil {
			rivals = append(rivals, s)
		}
	}
	slices.SortFunc(kept, func(a, b *shop) int {
		return cmp.Or(cmp.Compare(a.shelf.index, b.shelf.index), cmp.Compare(a.shape, b.shape))
	})
	t.shops = kept
}

// dominates reports whether s, which is cheaper, holds whatever the other holds.
func (s *shop) dominates(other *shop) bool {
	if s.shelf != other.shelf || s.kinds < other.kinds {
		return false
	}
	for r, v := range other.room {
		if v > s.room[r] {
			return false
		}
	}
	shapes := s.shelf.pool.shapes
	return shapes[s.shape].aboard.has(shapes[other.shape].aboard)
}

// reprice is the share of the worth that must be left for the prices to be good still.
const reprice = 0.95

// poor is the ratio of a pattern below which the prices are found anew before it is taken.
const poor = 0.985

// fill opens nodes until no kind has units left that a pool may still take.
//
// Worths come from the relaxation of what is left. The pattern that holds the most worth per dollar is opened as often as
// demand and limits allow, then the next; from time to time worths are found anew.
func (t *tier) fill() []*opened {
	if !t.price() {
		return nil
	}
	for _, k := range t.kinds {
		k.base = k.value
	}
	for _, s := range t.shops {
		s.first = slices.Clone(s.best)
	}
	return t.buy(true)
}

// buy opens nodes at the prices as they are; if they may move, they are found anew now and then.
func (t *tier) buy(moving bool) []*opened {
	var nodes []*opened
	for len(nodes) < t.opts.MaxPatterns {
		best := t.best()
		if best == nil {
			return nodes
		}
		if moving && best.ratio() < poor && t.total < t.priced*(1-same) {
			if !t.price() {
				return nodes
			}
			if best = t.best(); best == nil {
				return nodes
			}
		}
		nodes = append(nodes, t.take(best)...)
		if t.tally(); t.total <= 0 {
			return nodes
		}
		if moving && t.total < reprice*t.priced && !t.price() {
			return nodes
		}
	}
	return nodes
}

// near is how close to the bound a pattern must come to be taken without looking further.
const near = 0.999

// best returns the pattern with the highest ratio; of equals the one with more worth, so that ties go to fewer nodes, then
// by name.
func (t *tier) best() *opened {
	var best *opened
	stars, next := 0, 0
	for i, k := range t.byValue {
		if k.left == 0 || k.stuck || i < next {
			continue
		}
		if p := t.around(k); p == nil {
			k.stuck = true
		} else if p.better(best) {
			best = p
		}
		if stars++; stars >= t.stars && best != nil {
			break
		}
		next = i + 1 + len(t.byValue)/apart
	}
	return best
}

// apart is how far from each other stars are: a share of all kinds.
const apart = 16

// around returns the best pattern with at least one unit of star.
func (t *tier) around(star *kind) *opened {
	if t.total < t.ranked {
		t.rankShops() // what is left is less than some shape holds
	}
	var best *opened
	n := 0
	for _, s := range t.shops {
		if best != nil && (n >= t.tried || best.ratio() >= s.bound*t.ceiling) {
			break
		}
		if on := &star.fit.on[s.shelf.index]; on.flavour == nil || !on.holds.has(s.shape) || soldOut(s) {
			continue
		}
		n++
		for _, order := range t.orders {
			p := t.pattern(s, star, order)
			if p == nil {
				continue
			}
			if !t.sparse {
				t.polish(p)
			}
			if p.better(best) {
				best = p
			}
		}
	}
	return best
}

// ratio is the worth that a dollar buys.
func (o *opened) ratio() float64 { return o.value / o.price }

// same is the relative difference below which two prices or ratios count as equal.
const same = 1e-6

func (o *opened) better(than *opened) bool {
	if than == nil {
		return true
	}
	a, b := o.ratio(), than.ratio()
	if math.Abs(a-b) > same*max(a, b) {
		return a > b
	}
	return o.value > than.value*(1+same)
}

// take opens the pattern as often as the units left, limits and reservations allow, and as long as there is enough left for
// it to be good still, with units that are alike.
func (t *tier) take(o *opened) []*opened {
	o.resize()
	o.toll = t.toll(o, o.need())
	afford, _ := o.shelf.pool.leaves(o.takes(), o.shelf.pool.shapes[o.shape].reserved)
	most := int(min(afford, math.MaxInt32))
	times := most
	for _, part := range o.share {
		times = min(times, part.lot.left()/part.n)
	}
	nodes := make([]*opened, times)
	for i := range nodes {
		nodes[i] = o
	}
	t.move(o, times)
	for enough := int(t.total * (1 - reprice) / o.value); times < min(most, enough); times++ {
		like := o.alike()
		if like == nil {
			break
		}
		t.move(like, 1)
		nodes = append(nodes, like)
	}
	return nodes
}

// alike returns a node like o with other units of the same bands, nil if there are not enough left.
func (o *opened) alike() *opened {
	like := *o
	like.share = make([]portion, 0, len(o.share))
	for _, part := range o.share {
		due := part.n
		for _, l := range part.band.left() {
			n := l.left()
			for _, other := range like.share {
				if other.lot == l {
					n -= other.n
				}
			}
			if n = min(n, due); n > 0 {
				like.share = append(like.share, portion{lot: l, kind: part.kind, band: part.band, n: n})
				due -= n
			}
			if due == 0 {
				break
			}
		}
		if due > 0 {
			return nil
		}
	}
	return &like
}

// move gives the units of n nodes like o their place, or takes it away if n is negative.
func (t *tier) move(o *opened, n int) {
	for _, part := range o.share {
		part.lot.next += n * part.n * part.lot.unit
		part.kind.left -= n * part.n
		if n < 0 {
			part.band.head = 0
		}
	}
	o.shelf.pool.debit(o, int64(n))
}

// resize puts the node's pods on the cheapest shape that holds them.
func (o *opened) resize() {
	if o.shelf.pool.remaining != nil {
		return // another shape may have more of what is limited
	}
	o.shape = o.cheapest(o.shape, o.shelf.pool.shapes[o.shape].reserved, o.need(), nil)
	o.price = o.flavour.price[o.shape] + o.fee
}

// cheapest returns the shape that holds need for the least price, of those that draw from the reservation and to which may
// says yes, nil to all; shape if none is cheaper than that, which is -1 for none.
func (o *opened) cheapest(shape int, from *reservation, need []int64, may func(shape int) bool) int {
	best := shape
	o.flavour.allowed.each(func(j int) {
		sh := o.shelf.pool.shapes[j]
		if best >= 0 && o.flavour.price[j] >= o.flavour.price[best] || sh.reserved != from {
			return
		}
		if sh.holds(need, o.cargo) && (may == nil || may(j)) && o.bears(j) {
			best = j
		}
	})
	return best
}

// picky reports whether some pod of the node goes not to all shapes that have room for it and the labels.
func (o *opened) picky() bool {
	return slices.ContainsFunc(o.share, func(part portion) bool { return part.lot.fit.picky })
}

// bears reports whether shape j may hold every kind of o as far as the daemons there are concerned.
func (o *opened) bears(j int) bool {
	picky := false
	for _, part := range o.share {
		if part.lot.fit.picky {
			picky = true
			if !part.lot.fit.on[o.shelf.index].holds.has(j) {
				return false
			}
		}
	}
	return !picky || o.shelf.noCrowdier(o.flavour, j, o.shape)
}
