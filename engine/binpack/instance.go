package binpack

import (
	"cmp"
	"slices"
	"strings"
)

// An instance is a Problem made ready: names are numbers, amounts are scaled, and what is left of items, budgets and supplies
// is counted. Each search over it leaves behind what it packed.
type instance struct {
	problem  *Problem
	options  Options
	units    []float64
	shared   sharedList
	items    []item // as in the problem
	catalogs []*catalog
	meter    *meter
}

// An item is an Item of which some copies may be packed.
type item struct {
	*Item
	index int
	left  int // copies without a bin
	class int // items of one class have equal counts and bounds
	// inPattern is how many copies pattern number stamp holds, as its part number part.
	inPattern, stamp, part int
}

// social reports whether the item's copies restrict what shares a bin with them, or are restricted by it.
func (it *item) social() bool { return len(it.Counts)+len(it.Bounds) > 0 }

// A meter counts elementary steps.
type meter struct{ used, most int64 }

func (m *meter) spend(n int) { m.used += int64(n) }

// exhausted reports whether the bound is reached. 0 is no bound.
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

// waiting returns the items with copies that some catalog takes, by falling priority, then by name.
func (in *instance) waiting() []*item {
	var out []*item
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
