package binpack

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// An itemType is all items with equal demand, bin types, offer sets and scarce cardinalities (see cardinality). Apart from
// these cardinalities, their counts and bounds may differ.
type itemType struct {
	index int
	fit   []fit // by catalog
	// demand and scaled are by dimension. All item types share an array for demand and one for weights: faster to scan.
	demand       []int64
	scaled       []float64 // demand divided by Problem.Units
	weights      []float64 // scaled, then 1 for each scarce cardinality that a copy uses and 0 for the others
	classes      []itemClass
	hasConflicts bool    // some item of the type has counts or bounds
	left         int     // the number of remaining copies of its items
	group        int     // the price group: item types that pay the same price in every bin type; see itemSet.setGroups
	value        float64 // the value of one copy, in dollars per hour
	initialValue float64 // value at the dual prices for all copies
	used         int     // the number of copies in the pattern that is being built
	noPattern    bool    // search.bestAround found no pattern around this item type at the current dual prices
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

// remaining returns the items of the class, from the first one with remaining copies on. Some of the later ones may have none.
func (c *itemClass) remaining() []*item {
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
	byKey   map[string]*itemType // by what the items of a type have in common, see typeOf
	classes map[string]int       // classes[key] is the number of the conflict class whose items have the conflictKey key
	demands []int64              // itemType.demand of all item types, one after another
	weights []float64            // likewise itemType.weights
	key     []byte
}

// groupItems returns the item types in order of first appearance, and the number of conflict classes. It sets the type and
// class of the items.
func groupItems(in *instance, items []*item, scarce []cardinality) ([]*itemType, int) {
	g := &itemGrouper{
		in: in, scarce: scarce, byKey: map[string]*itemType{}, classes: map[string]int{},
		demands: make([]int64, 0, len(items)*in.problem.Dimensions),
		weights: make([]float64, 0, len(items)*(in.problem.Dimensions+len(scarce))),
	}
	for _, it := range items {
		t := g.typeOf(it)
		t.hasConflicts = t.hasConflicts || it.hasConflicts()
		t.left += it.left
		it.typ, it.conflictClass = t, g.classOf(it.Item)
		it.stamp = 0 // no pattern, because each search numbers its patterns from 1
	}
	setClasses(items)
	return g.types, len(g.classes)
}

// typeOf returns the item type of an item: that of all items with the same demand, uses and scarce cardinalities.
func (g *itemGrouper) typeOf(it *item) *itemType {
	bits := scarceBits(it, g.scarce)
	key := binary.LittleEndian.AppendUint64(g.key[:0], uint64(bits))
	for _, v := range it.Demand {
		key = binary.LittleEndian.AppendUint64(key, uint64(v))
	}
	for _, u := range it.Uses {
		key = binary.LittleEndian.AppendUint64(key, uint64(u.Offers))
		if u.Offers == NoOffers {
			continue
		}
		for _, w := range u.Types {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
	}
	g.key = key
	t := g.byKey[string(key)]
	if t == nil {
		t = g.newItemType(it, bits)
		g.byKey[string(key)] = t
	}
	return t
}

// newItemType returns a new item type for an item. Bit i of bits is set if a copy uses scarce cardinality i.
func (g *itemGrouper) newItemType(it *item, bits int) *itemType {
	t := &itemType{index: len(g.types), fit: make([]fit, len(g.in.catalogs))}
	for i, u := range it.Uses {
		if u.Offers != NoOffers {
			t.fit[i] = fit{g.in.catalogs[i].set(u.Offers), u.Types}
		}
	}
	n, m := len(g.demands), len(g.weights)
	g.demands, g.weights = append(g.demands, it.Demand...), append(g.weights, vector.Scale(it.Demand, g.in.units)...)
	for i := range g.scarce {
		g.weights = append(g.weights, float64(bits>>i&1))
	}
	t.demand, t.weights = g.demands[n:], g.weights[m:]
	t.scaled = t.weights[:len(t.demand)]
	g.types = append(g.types, t)
	return t
}

// classOf returns the number of the item's conflict class. A new class gets the next number.
func (g *itemGrouper) classOf(it *Item) int {
	g.key = conflictKey(g.key[:0], it)
	n, ok := g.classes[string(g.key)]
	if !ok {
		n = len(g.classes)
		g.classes[string(g.key)] = n
	}
	return n
}

// setClasses makes the item classes of all item types: in each type, one of the items of each conflict class.
func setClasses(items []*item) {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b *item) int {
		return cmp.Or(a.typ.index-b.typ.index, a.conflictClass-b.conflictClass)
	})
	classes := make([]itemClass, 0, len(items)) // those of all types, one type after another
	for i, it := range items {
		if i == 0 || it.typ != items[i-1].typ || it.conflictClass != items[i-1].conflictClass {
			classes = append(classes, itemClass{number: it.conflictClass})
			it.typ.classes = classes[len(classes)-1-len(it.typ.classes):]
		}
		it.class = &classes[len(classes)-1]
		it.class.items = items[i-len(it.class.items) : i+1]
	}
}
