package binpack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// An itemType is all items with equal demand, bin types and offer sets. Their conflicts may differ.
type itemType struct {
	index int
	fit   *itemFit
	// demand and scaled are by dimension. Those of all types share one array each, see align.
	demand       []int64
	scaled       []float64 // in units, plus SharedDemand.Part for each shared demand
	shared       []int
	weights      []float64 // scaled, then the use of each scarce cardinality (0 or 1)
	classes      []itemClass
	hasConflicts bool // some item of the type has counts or bounds
	left         int
	group        int     // the price group, see doc.go
	value        float64 // of one copy, in dollars per hour
	base         float64 // the value at the first dual prices
	used         int     // the number of copies in the pattern under construction
	stuck        bool    // no bin can be opened for it at the current prices
}

// An itemFit is the offer sets and bin types that an item type may use.
type itemFit struct {
	on         []fit // by catalog
	restricted bool
}

// A fit is the offer set and the bin types that an item may use in one catalog. offers is nil if it may use none.
type fit struct {
	offers *offerSet
	types  typeset.Set // the bin types that hold a copy
}

// An itemClass is the items of one type with equal counts and bounds. Any of them can replace any other in a bin.
type itemClass struct {
	number int
	items  []*item
	head   int // no item before this index has copies left
}

// open returns the items from the first one with copies left. Later items may have none left.
func (c *itemClass) open() []*item {
	for c.head < len(c.items) && c.items[c.head].left == 0 {
		c.head++
	}
	return c.items[c.head:]
}

// An itemGrouper groups items into item types, and the items of a type into classes.
type itemGrouper struct {
	in      *instance
	scarce  []cardinality
	types   []*itemType
	byHash  map[uint64][]int // indices of the item types with this hash
	classes map[string]int
	buf     []byte
	sample  []*item // by item type: its first item
	of      []*itemType
}

// groupItems returns the item types in order of first appearance, and the number of conflict classes.
func groupItems(in *instance, items []*item, scarce []cardinality) ([]*itemType, int) {
	g := &itemGrouper{
		in: in, scarce: scarce, byHash: map[uint64][]int{}, classes: map[string]int{},
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
		it.stamp = 0 // 0 is no pattern: a search numbers its patterns from 1
		t.hasConflicts = t.hasConflicts || it.hasConflicts()
		t.left += it.left
		g.of[i] = t
	}
	g.distribute(items, sizes)
	g.align()
	return g.types, len(g.classes)
}

// typeOf returns the item type of an item. It creates the type if necessary.
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

// sameUse reports whether both items have equal demands, offer sets and bin types.
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

// newItemType returns a new item type for an item. Bit i of draws is set if a copy uses scarce cardinality i.
func (in *instance) newItemType(it *item, draws, scarce int) *itemType {
	f := &itemFit{on: make([]fit, len(in.catalogs)), restricted: it.Restricted}
	for i, u := range it.On {
		if u.Offers != NoOffers {
			f.on[i] = fit{in.catalogs[i].set(u.Offers), u.Types}
		}
	}
	t := &itemType{fit: f, demand: it.Demand, scaled: vector.Scale(it.Demand, in.units), shared: it.Shared}
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

// distribute adds each item to its item type, and groups the items of a type into item classes. sizes is the number
// of items of each type.
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

// split sorts the items by conflict class and sets the item classes of t, one for each conflict class.
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

// align copies demand and scaled of all types into two contiguous arrays, for fast scans.
func (g *itemGrouper) align() {
	width := g.in.problem.Dimensions
	demands, scaled := make([]int64, 0, len(g.types)*width), make([]float64, 0, len(g.types)*width)
	for i, t := range g.types {
		demands, scaled = append(demands, t.demand...), append(scaled, t.scaled...)
		t.demand, t.scaled = demands[i*width:(i+1)*width], scaled[i*width:(i+1)*width]
	}
}
