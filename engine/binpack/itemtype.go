package binpack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// An itemType is all items with equal demand, bin types, offer sets and scarce cardinalities (see cardinality). Apart from
// these cardinalities, their counts and bounds may differ.
type itemType struct {
	index int
	fit   []fit // by catalog
	// demand and scaled are by dimension. They are parts of two arrays that all item types share, see align.
	demand       []int64
	scaled       []float64 // demand divided by Problem.Units
	weights      []float64 // scaled, then 1 for each scarce cardinality that a copy uses and 0 for the others
	classes      []itemClass
	hasConflicts bool    // some item of the type has counts or bounds
	left         int     // the number of remaining copies of its items
	group        int     // the price group: item types that pay the same price in every bin type; see demand.group
	value        float64 // the value of one copy, in dollars per hour
	initialValue float64 // value at the dual prices for all copies
	used         int     // the number of copies in the pattern that is being built
	stuck        bool    // search.bestAround found no pattern around this item type at the current dual prices
}

// A fit is the offer set and the bin types that an item type may use in one catalog. offers is nil if it may not use the
// catalog.
type fit struct {
	offers *offerSet
	types  typeset.Set // the bin types that may hold a copy
}

// An itemClass is the items of one item type with equal counts and bounds. One of its items can replace another in a
// bin.
type itemClass struct {
	number int // the number of the conflict class: all items with equal counts and bounds
	items  []*item
	head   int // no item before this index has remaining copies
}

// open returns the items of the class, from the first one with remaining copies on. Some of the later ones may have none.
func (c *itemClass) open() []*item {
	for c.head < len(c.items) && c.items[c.head].left == 0 {
		c.head++
	}
	return c.items[c.head:]
}

// An itemGrouper groups items into item types, and the items of a type into classes.
type itemGrouper struct {
	in         *instance
	scarce     []cardinality
	types      []*itemType
	byHash     map[uint64][]int // indices of the item types with this hash
	classes    map[string]int   // classes[key] is the number of the conflict class whose items have the conflictKey key
	buf        []byte
	sample     []*item     // sample[t] is the first item of item type t
	typeByItem []*itemType // typeByItem[i] is the item type of the i-th item
}

// groupItems returns the item types in order of first appearance, and the number of conflict classes. It sets
// item.class.
func groupItems(in *instance, items []*item, scarce []cardinality) ([]*itemType, int) {
	g := &itemGrouper{
		in: in, scarce: scarce, byHash: map[uint64][]int{}, classes: map[string]int{},
		typeByItem: make([]*itemType, len(items)),
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
		it.stamp = 0 // no pattern, because each search numbers its patterns from 1
		t.hasConflicts = t.hasConflicts || it.hasConflicts()
		t.left += it.left
		g.typeByItem[i] = t
	}
	g.distribute(items, sizes)
	g.align()
	return g.types, len(g.classes)
}

// typeOf returns the item type of an item. If it is new, typeOf creates it.
func (g *itemGrouper) typeOf(it *item) *itemType {
	bits := scarceBits(it, g.scarce)
	h := uint64(bits)
	mix := func(v uint64) { h = (h ^ v) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	for _, v := range it.Demand {
		mix(uint64(v))
	}
	for i := range it.Uses {
		mix(uint64(it.Uses[i].Offers))
		for _, w := range it.Uses[i].Types {
			mix(w)
		}
	}
	for _, i := range g.byHash[h] {
		if o := g.sample[i]; sameUse(it.Item, o.Item) && bits == scarceBits(o, g.scarce) {
			return g.types[i]
		}
	}
	t := g.in.newItemType(it, bits, len(g.scarce))
	t.index = len(g.types)
	g.byHash[h] = append(g.byHash[h], t.index)
	g.types, g.sample = append(g.types, t), append(g.sample, it)
	return t
}

func sameUse(a, b *Item) bool {
	return slices.Equal(a.Demand, b.Demand) &&
		slices.EqualFunc(a.Uses, b.Uses, func(x, y Use) bool {
			return x.Offers == y.Offers && (x.Offers == NoOffers || slices.Equal(x.Types, y.Types))
		})
}

func sameConflicts(a, b *Item) bool {
	return slices.Equal(a.Counts, b.Counts) && slices.Equal(a.Bounds, b.Bounds)
}

// classOf returns the number of the item's conflict class. A new class gets the next number.
func (g *itemGrouper) classOf(it *Item) int {
	g.buf = conflictKey(g.buf[:0], it)
	n, ok := g.classes[string(g.buf)]
	if !ok {
		n = len(g.classes)
		g.classes[string(g.buf)] = n
	}
	return n
}

// newItemType returns a new item type for an item. Bit i of bits is set if a copy uses scarce cardinality i. scarce is
// the number of scarce cardinalities.
func (in *instance) newItemType(it *item, bits, scarce int) *itemType {
	t := &itemType{fit: make([]fit, len(in.catalogs)), demand: it.Demand, scaled: vector.Scale(it.Demand, in.units)}
	for i, u := range it.Uses {
		if u.Offers != NoOffers {
			t.fit[i] = fit{in.catalogs[i].set(u.Offers), u.Types}
		}
	}
	t.weights = make([]float64, 0, len(t.scaled)+scarce)
	t.weights = append(t.weights, t.scaled...)
	for i := range scarce {
		t.weights = append(t.weights, float64(bits>>i&1))
	}
	return t
}

// distribute sets the item classes of all item types. sizes[t] is the number of items of type t.
func (g *itemGrouper) distribute(items []*item, sizes []int) {
	all := make([]*item, len(items))
	byType := make([][]*item, len(g.types))
	for i, n := range sizes {
		byType[i], all = all[:0:n], all[n:]
	}
	for i, t := range g.typeByItem {
		byType[t.index] = append(byType[t.index], items[i])
	}
	for i, t := range g.types {
		t.split(byType[i])
	}
}

// split sorts items, the items of t, by conflict class. It makes one item class of t from those of each conflict class.
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

// align moves demand and scaled of all item types into two arrays, because these are faster to scan.
func (g *itemGrouper) align() {
	width := g.in.problem.Dimensions
	demands, scaled := make([]int64, 0, len(g.types)*width), make([]float64, 0, len(g.types)*width)
	for i, t := range g.types {
		demands, scaled = append(demands, t.demand...), append(scaled, t.scaled...)
		t.demand, t.scaled = demands[i*width:(i+1)*width], scaled[i*width:(i+1)*width]
	}
}
