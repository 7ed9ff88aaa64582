package binpack

import (
	"cmp"
	"slices"
	"strings"
)

// An instance is the working state of a Problem: scaled amounts, and what is left of items, budgets and supplies. All
// searches of one Solve share it and update it.
type instance struct {
	problem  *Problem
	options  Options
	units    []float64
	shared   sharedList
	items    []item // in the order of Problem.Items
	catalogs []*catalog
	meter    *meter
}

// An item is an Item with the number of its copies left and its place in the current pattern.
type item struct {
	*Item
	index int
	left  int // copies without a bin
	class int // the conflict class: items of one class have equal counts and bounds
	// inPattern is the number of copies in the pattern with number stamp. part is the index of the item's part there.
	inPattern, stamp, part int
}

// hasConflicts reports whether the item has counts or bounds, which restrict the items that share a bin with it.
func (it *item) hasConflicts() bool { return len(it.Counts)+len(it.Bounds) > 0 }

// A meter counts elementary steps. most is Options.MaxSteps.
type meter struct{ used, most int64 }

func (m *meter) spend(n int) { m.used += int64(n) }

// exhausted reports whether the count has reached the limit. A limit of 0 means none.
func (m *meter) exhausted() bool { return m.most > 0 && m.used >= m.most }

func newInstance(p *Problem, o Options) *instance {
	in := &instance{
		problem: p, options: o, units: p.Units, shared: p.Shared, items: make([]item, len(p.Items)),
		meter: &meter{most: o.MaxSteps},
	}
	if in.units == nil {
		in.units = slices.Repeat([]float64{1}, p.Dimensions)
	}
	supplies := slices.Clone(p.Supplies)
	for i := range p.Catalogs {
		in.catalogs = append(in.catalogs, newCatalog(&p.Catalogs[i], i, p, in.units, supplies))
	}
	for i := range p.Items {
		in.items[i] = item{Item: &p.Items[i], index: i, left: p.Items[i].Copies}
	}
	return in
}

// waiting returns the items with copies left that some catalog admits, by falling priority, then by name.
func (in *instance) waiting() []*item {
	out := make([]*item, 0, len(in.items))
	for i := range in.items {
		it := &in.items[i]
		if it.left > 0 && slices.ContainsFunc(it.On, func(u Use) bool { return u.Offers != NoOffers }) {
			out = append(out, it)
		}
	}
	first := func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(a.Name, b.Name))
	}
	if !slices.IsSortedFunc(out, first) {
		slices.SortFunc(out, first)
	}
	return out
}

// limited reports whether some catalog has a budget or a bounded supply.
func (in *instance) limited() bool {
	return slices.ContainsFunc(in.catalogs, func(c *catalog) bool { return c.limited })
}
