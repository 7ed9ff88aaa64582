package binpack

import (
	"cmp"
	"slices"
	"strings"
)

// An instance is the working state of a Problem: scaled amounts, remaining copies, and what is left of budgets and
// supplies. All searches of one call of solve share it and update it.
type instance struct {
	problem  *Problem
	options  Options
	units    []float64
	items    []item // in the order of Problem.Items
	catalogs []*catalog
}

// An item is an Item with the number of its remaining copies and its position in the pattern that is being built.
type item struct {
	*Item
	index         int // in Problem.Items
	left          int // the number of remaining copies: those in no bin yet
	typ           *itemType
	class         *itemClass // of typ
	conflictClass int        // the number of the conflict class; items of one class have equal counts and bounds
	// stamp is the number of the last pattern that got a copy of the item. part is the index of its copies in pattern.parts. It
	// is valid only while that pattern is being built.
	stamp, part int
}

// hasConflicts reports whether the item has counts or bounds, which restrict the items that share a bin with it.
func (it *item) hasConflicts() bool { return len(it.Counts)+len(it.Bounds) > 0 }

func newInstance(p *Problem, o Options) *instance {
	in := &instance{problem: p, options: o, units: p.Units, items: make([]item, len(p.Items))}
	if in.units == nil {
		in.units = slices.Repeat([]float64{1}, p.Dimensions)
	}
	supplies := slices.Clone(p.Supplies)
	for i := range p.Catalogs {
		in.catalogs = append(in.catalogs, newCatalog(&p.Catalogs[i], i, supplies))
	}
	for i := range p.Items {
		in.items[i] = item{Item: &p.Items[i], index: i, left: p.Items[i].Copies}
	}
	return in
}

// packable returns the items with remaining copies and at least one offer set, by falling priority, then by name.
func (in *instance) packable() []*item {
	out := make([]*item, 0, len(in.items))
	for i := range in.items {
		it := &in.items[i]
		if it.left > 0 && slices.ContainsFunc(it.Uses, func(u Use) bool { return u.Offers != NoOffers }) {
			out = append(out, it)
		}
	}
	slices.SortFunc(out, func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(a.Name, b.Name))
	})
	return out
}
