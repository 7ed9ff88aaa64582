package binpack

import "slices"

// An itemType is all items with the same demand that fit the same bin types at the same prices, whatever conflicts they have.
type itemType struct {
	index int
	fit   *itemFit
	// demand and scaled lie side by side in memory for all types.
	demand  []int64
	scaled  []float64 // in units, with the item's part of shared demands
	shared  []int
	weights []float64 // scaled, followed by what a copy takes of each scarce cardinality
	classes []itemClass
	social  bool // some item of the type is
	left    int
	group   int     // item types of one group pay the same price for every bin type
	value   float64 // of one copy, in dollars per hour
	base    float64 // the value that was found first
	used    int     // copies in the pattern under construction
	stuck   bool    // no bin type can be opened for it at present
}

// An itemFit is what item types of the same offers and bin types have in common.
type itemFit struct {
	on         []fit // by catalog
	restricted bool
}

// A fit says how an item may be used in one catalog. It has no offers where the item cannot be used.
type fit struct {
	offers *offerSet
	types  Bits // that hold a copy
}

// An itemClass is those items of a type that have equal counts and bounds, so that any of them can stand for any other.
type itemClass struct {
	number int
	items  []*item
	head   int // items before it have no copies left
}

// open returns the items with copies left, and maybe some without.
func (c *itemClass) open() []*item {
	for c.head < len(c.items) && c.items[c.head].left == 0 {
		c.head++
	}
	return c.items[c.head:]
}

// An itemGrouper sorts items into item types and these into classes.
type itemGrouper struct {
	in      *instance
	scarce  []cardinality
	types   []*itemType
	byHash  map[uint64][]int // item types
	classes map[string]int
	buf     []byte
	sample  []*item // of each type, the first item
	of      []*itemType
}

// groupItems returns the types of the items, in order of first appearance, and the number of conflict classes.
func groupItems(in *instance, items []*item, scarce []cardinality) ([]*itemType, int) {
	g := &itemGrouper{
		in: in, scarce: scarce, byHash: make(map[uint64][]int, len(items)), classes: map[string]int{},
		of: make([]*itemType, len(items)),
	}
	sizes := make([]int, 0, len(items))
	for i, it := range items {
		t := g.typeOf(it)
		if t.index == len(sizes) {
			sizes = append(sizes, 0)
		}
		sizes[t.index]++
		if i > 0 && sameConflicts(it.Item, items[i-1].Item) {
			it.class = items[i-1].class
		} else {
			it.class = g.classOf(it.Item)
		}
		it.stamp = 0 // patterns of this search are numbered from 1
		t.social = t.social || it.social()
		t.left += it.left
		g.of[i] = t
	}
	g.distribute(items, sizes)
	g.align()
	return g.types, len(g.classes)
}

// typeOf returns the type of an item. It makes a new one if there is none yet.
func (g *itemGrouper) typeOf(it *item) *itemType {
	draws := drawsOn(it, g.scarce)
	h := uint64(draws)
	mix := func(v uint64) { h = (h ^ v) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	for _, v := range it.Demand {
		mix(uint64(v))
	}
	for _, v := range it.Shared {
		mix(uint64(v) + 1)
	}
	for i := range it.On {
		mix(uint64(it.On[i].Offers))
		for _, w := range it.On[i].Types {
			mix(w)
		}
	}
	for _, i := range g.byHash[h] {
		if o := g.sample[i]; sameUse(it.Item, o.Item) && draws == drawsOn(o, g.scarce) {
			return g.types[i]
		}
	}
	t := g.in.newItemType(it, draws, len(g.scarce))
	t.index = len(g.types)
	g.byHash[h] = append(g.byHash[h], t.index)
	g.types, g.sample = append(g.types, t), append(g.sample, it)
	return t
}

// sameUse reports whether copies of both items demand the same and may be used in the same ways.
func sameUse(a, b *Item) bool {
	return slices.Equal(a.Demand, b.Demand) && slices.Equal(a.Shared, b.Shared) && a.Restricted == b.Restricted &&
		slices.EqualFunc(a.On, b.On, func(x, y Use) bool {
			return x.Offers == y.Offers && (x.Offers == NoOffers || slices.Equal(x.Types, y.Types))
		})
}

// sameConflicts reports whether both items have equal counts and bounds.
func sameConflicts(a, b *Item) bool {
	return slices.Equal(a.Counts, b.Counts) && slices.Equal(a.Bounds, b.Bounds)
}

func (g *itemGrouper) classOf(it *Item) int {
	g.buf = conflictKey(g.buf[:0], it)
	n, ok := g.classes[string(g.buf)]
	if !ok {
		n = len(g.classes)
		g.classes[string(g.buf)] = n
	}
	return n
}

// newItemType returns the type of an item that draws on the scarce cardinalities given as bits.
func (in *instance) newItemType(it *item, draws, scarce int) *itemType {
	f := &itemFit{on: make([]fit, len(in.catalogs)), restricted: it.Restricted}
	for i, u := range it.On {
		if u.Offers != NoOffers {
			f.on[i] = fit{in.catalogs[i].set(u.Offers), u.Types}
		}
	}
	t := &itemType{fit: f, demand: it.Demand, scaled: scale(it.Demand, in.units), shared: it.Shared}
	for _, x := range it.Shared {
		t.scaled[in.shared[x].Dimension] += in.shared[x].Part / in.units[in.shared[x].Dimension]
	}
	t.weights = make([]float64, 0, len(t.scaled)+scarce)
	t.weights = append(t.weights, t.scaled...)
	for i := range scarce {
		t.weights = append(t.weights, float64(draws>>i&1))
	}
	return t
}

// distribute gives each type its items, class by class.
func (g *itemGrouper) distribute(items []*item, sizes []int) {
	all := make([]*item, len(items))
	of := make([][]*item, len(g.types))
	for i, n := range sizes {
		of[i], all = all[:0:n], all[n:]
	}
	for i, t := range g.of {
		of[t.index] = append(of[t.index], items[i])
	}
	for i, t := range g.types {
		t.split(of[i])
	}
}

// split sorts the items of the type into classes.
func (t *itemType) split(items []*item) {
	slices.SortStableFunc(items, func(a, b *item) int { return a.class - b.class })
	n := 0
	for i, it := range items {
		if i == 0 || it.class != items[i-1].class {
			n++
		}
	}
	t.classes = make([]itemClass, 0, n)
	for i, j := 0, 0; i < len(items); i = j {
		for j = i; j < len(items) && items[j].class == items[i].class; j++ {
		}
		t.classes = append(t.classes, itemClass{number: items[i].class, items: items[i:j]})
	}
}

// align copies what the types demand to one place.
func (g *itemGrouper) align() {
	width := g.in.problem.Dimensions
	demands, scaled := make([]int64, 0, len(g.types)*width), make([]float64, 0, len(g.types)*width)
	for i, t := range g.types {
		demands, scaled = append(demands, t.demand...), append(scaled, t.scaled...)
		t.demand, t.scaled = demands[i*width:(i+1)*width], scaled[i*width:(i+1)*width]
	}
}
