package binpack

import (
	"slices"
	"sort"
)

// A catalog is the working state of a Catalog: its Index, and what the opened bins leave of its budget and supplies.
type catalog struct {
	*Index
	index    int
	left     []int64 // the budget that is left, by budget dimension
	supplies []int   // supplies[i] is the number of units left of supply i; all catalogs share the slice
}

func newCatalog(c *Catalog, index int, supplies []int) *catalog {
	out := &catalog{Index: c.Index, index: index, left: slices.Clone(c.Budget), supplies: supplies}
	if out.Index == nil {
		out.Index = NewIndex(c)
	}
	return out
}

// afford returns how many more bins of type j that use charge of the budget it and the supply allow: unlimited if nothing
// limits them.
func (c *catalog) afford(j int, charge []int64) int64 {
	n := int64(unlimited)
	if supply := c.types[j].Supply; supply >= 0 {
		if n = int64(c.supplies[supply] / c.types[j].draw()); n <= 0 {
			return 0
		}
	}
	for d, left := range c.left {
		switch size := charge[d]; {
		case size <= 0 && left >= 0:
		case size > left:
			return 0
		default:
			n = min(n, left/size)
		}
	}
	return n
}

// draw returns how many units of its supply one bin uses.
func (t *BinType) draw() int { return max(t.Draw, 1) }

// exhausted reports whether the budget or the supply allows no further bin of type j.
func (c *catalog) exhausted(j int) bool { return c.afford(j, c.types[j].Charge) == 0 }

// debit subtracts what n bins with pattern p use from the budget and the supply. A negative n adds it back.
func (c *catalog) debit(p *pattern, n int64) {
	if from := c.types[p.typ].Supply; from >= 0 {
		c.supplies[from] -= int(n) * c.types[p.typ].draw()
	}
	charge := p.charged()
	for d := range c.left {
		c.left[d] -= charge[d] * n
	}
}

// affordable returns those of the types of which the budget and the supply allow one more bin. Without a budget it
// returns all types and does not check the supply. It checks each type alone. That suffices also for a bin that may
// become any of several types. The charge of such a bin is the maximum of their charges in each dimension (see
// chargeOf), and the budget allows the maximum if it allows each charge.
func (c *catalog) affordable(types []int) []int {
	if len(c.left) == 0 {
		return types
	}
	return slices.DeleteFunc(slices.Clone(types), c.exhausted)
}

// chargeOf returns the charge of a bin of type j that has enough options to meet the Distinct conditions of s. An option
// is a bin type that the bin may become. The charge is the maximum, in each budget dimension, over j and the shortest
// prefix of options that meets the conditions. If all options together do not meet them, chargeOf returns nil.
func (c *catalog) chargeOf(s *offerSet, j int, options []int) []int64 {
	n := sort.Search(len(options)+1, func(n int) bool { return s.satisfied(options[:n]) })
	if n > len(options) {
		return nil
	}
	out := slices.Clone(c.types[j].Charge)
	for _, o := range options[:n] {
		for d, v := range c.types[o].Charge {
			out[d] = max(out[d], v)
		}
	}
	return out
}
