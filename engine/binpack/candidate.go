package binpack

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/lp"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// A candidate is a bin type that a search considers. It holds at least one copy of some item type. A candidate has the
// prices of a bin for these item types, and upper bounds on the value of the copies in a bin.
type candidate struct {
	index        int
	catalog      *catalog
	typ          int       // index of the bin type in catalog.types
	capacity     []float64 // by dimension, divided by Problem.Units; then by scarce cardinality
	price        float64   // the price of the cheapest offer that any item type may use, without the fee
	fee          float64   // Problem.Fee, plus the fee for small solutions (see smallFee) unless the type has a supply
	inRelaxation bool      // it is in the relaxation, see pricing.update
	holdsAll     bool      // a bin can hold a copy of each item type with remaining copies that may use the catalog
	// draw is what a bin of a Paid type uses of its supply, as a share of what was left when the search began. It is 0 for
	// other types, and if a catalog has a budget.
	draw float64
	// groupPrice[g] is the price of a bin for items of price group g (items that pay the same prices), with the fee. It is
	// +Inf if a bin holds no remaining copy of the group. updateGroupPrices sets it.
	groupPrice []float64
	groups     lp.GroupSet // the price groups g with a finite groupPrice[g]
	// value is the capacity times, in each dimension, the highest dual price of all price groups in groups. It is an upper
	// bound on the value of any pattern in a bin.
	value        float64
	initialValue float64 // value at the dual prices for all copies
	maxRatio     float64 // value / (price + fee): an upper bound on the ratio (value per dollar) of any pattern in a bin
}

// A candidates holds all candidates of one search.
type candidates struct {
	catalogs []*catalog
	items    *itemSet
	width    int          // the length of candidate.capacity: dimensions plus scarce cardinalities
	list     []*candidate // in the order of rank, once rank was called
	byPrice  []*candidate // the same candidates by rising price + fee
	highest  float64      // the highest candidate.value
}

// A groupUse is the bin types of one catalog that can hold the items of one price group with one offer set. A price group is
// the item types that pay the same prices.
type groupUse struct {
	offers    *offerSet
	group     int
	some, all typeset.Set // the bin types that can hold a copy of some of these item types; of each of them
}

func newCandidates(in *instance, items *itemSet) *candidates {
	c := &candidates{catalogs: in.catalogs, items: items, width: in.problem.Dimensions + len(items.scarce)}
	budgeted := hasBudget(in.problem)
	for _, cat := range in.catalogs {
		for j := range cat.types {
			if cat.exhausted(j) {
				continue
			}
			t := &cat.types[j]
			x := &candidate{index: len(c.list), catalog: cat, typ: j, groupPrice: make([]float64, items.groups)}
			x.capacity = vector.Scale(t.Capacity, in.units)
			for _, s := range items.scarce {
				x.capacity = append(x.capacity, float64(s.max))
			}
			if t.Paid && !budgeted {
				x.draw = float64(t.draw()) / float64(cat.supplies[t.Supply])
			}
			c.list = append(c.list, x)
		}
	}
	c.updateGroupPrices()
	c.list = slices.DeleteFunc(c.list, func(x *candidate) bool { return x.groups == 0 })
	// With several groups no candidate is removed, because the offers that items of two groups have in common may be cheapest
	// in a dominated type. A removed type can still become an option of a bin.
	if items.groups == 1 {
		c.list = c.undominated(c.list, func(x *candidate) bool {
			return len(x.catalog.left) == 0 && x.catalog.types[x.typ].Supply < 0
		})
	}
	for i, x := range c.list {
		x.index, x.price = i, slices.Min(x.groupPrice)
	}
	c.byPrice = slices.Clone(c.list)
	return c
}

// limited reports whether some candidate has a budget or a supply.
func (c *candidates) limited() bool {
	return slices.ContainsFunc(c.list, func(x *candidate) bool {
		return len(x.catalog.left) > 0 || x.catalog.types[x.typ].Supply >= 0
	})
}

// limitedUnpaid reports whether some candidate has a budget, or a supply that is not Paid.
func (c *candidates) limitedUnpaid() bool {
	return slices.ContainsFunc(c.list, func(x *candidate) bool {
		t := &x.catalog.types[x.typ]
		return len(x.catalog.left) > 0 || t.Supply >= 0 && !t.Paid
	})
}

// usesOf returns a groupUse for each combination of price group and offer set that item types with remaining copies have in
// the catalog.
func (c *candidates) usesOf(cat *catalog) []groupUse {
	var out []groupUse
	for _, t := range c.items.types {
		f := &t.fit[cat.index]
		if t.left == 0 || f.offers == nil {
			continue
		}
		i := slices.IndexFunc(out, func(u groupUse) bool { return u.offers == f.offers && u.group == t.group })
		if i < 0 {
			i = len(out)
			out = append(out, groupUse{f.offers, t.group, slices.Clone(f.types), slices.Clone(f.types)})
		}
		out[i].some.Join(f.types)
		out[i].all.Keep(f.types)
	}
	return out
}

// bins returns the bins of the linear relaxation: one for each candidate and each distinct finite price in groupPrice. A bin
// admits the price groups g with groupPrice[g] at most its price. The candidates are those for which include is true and that
// hold a remaining copy. bins omits dominated candidates, because the dual constraints of the candidates that dominate them
// imply theirs. Candidates that draw from a supply dominate none.
func (c *candidates) bins(include func(*candidate) bool) []lp.CoverBin {
	var list []*candidate
	for _, x := range c.list {
		if x.groups != 0 && include(x) {
			list = append(list, x)
		}
	}
	var out []lp.CoverBin
	for _, x := range c.undominated(list, func(x *candidate) bool { return x.draw == 0 }) {
		from := len(out)
		for _, price := range x.groupPrice {
			if math.IsInf(price, 1) || slices.ContainsFunc(out[from:], func(b lp.CoverBin) bool { return b.Price == price }) {
				continue
			}
			b := lp.CoverBin{Key: x.index, Capacity: x.capacity, Price: price, Draw: x.draw, Supply: max(0, x.catalog.types[x.typ].Supply)}
			for g, v := range x.groupPrice {
				if v <= price {
					b.Groups |= 1 << g
				}
			}
			out = append(out, b)
		}
	}
	return out
}

// undominated returns the list without candidates that another one with a lower price dominates (see dominates). The price
// is the lowest of groupPrice; of equal prices the one with the lower index counts as lower. Only candidates for which
// mayDominate is true remove others. The result is in order of index.
func (c *candidates) undominated(list []*candidate, mayDominate func(*candidate) bool) []*candidate {
	byPrice := slices.Clone(list)
	slices.SortFunc(byPrice, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(slices.Min(a.groupPrice), slices.Min(b.groupPrice)), a.index-b.index)
	})
	var kept []*candidate
	dominators := make([][]*candidate, len(c.catalogs)) // those kept of each catalog that may dominate
	for _, x := range byPrice {
		own := &dominators[x.catalog.index]
		if slices.ContainsFunc(*own, func(o *candidate) bool { return c.dominates(o, x) }) {
			continue
		}
		kept = append(kept, x)
		if mayDominate(x) {
			*own = append(*own, x)
		}
	}
	slices.SortFunc(kept, func(a, b *candidate) int { return a.index - b.index })
	return kept
}

// dominates reports whether x is at least as good as the other candidate of the same catalog: with no less capacity in any
// dimension, no higher price for any price group, and allowed for each item type with remaining copies that may use the
// other candidate.
func (c *candidates) dominates(x, other *candidate) bool {
	for r, v := range other.capacity {
		if v > x.capacity[r] {
			return false
		}
	}
	for g, v := range other.groupPrice {
		if x.groupPrice[g] > v {
			return false
		}
	}
	return x.holdsAll || !slices.ContainsFunc(c.items.types, func(t *itemType) bool {
		f := &t.fit[x.catalog.index]
		return t.left > 0 && f.offers != nil && f.types.Has(other.typ) && !f.types.Has(x.typ)
	})
}

// setFees sets the fee of each candidate. The fee for small solutions is small. It does not count for types with a
// supply: what is paid for already must not be left unused to have fewer bins.
func (c *candidates) setFees(fee, small float64) {
	for _, x := range c.list {
		x.fee = fee
		if x.catalog.types[x.typ].Supply < 0 {
			x.fee += small
		}
	}
	slices.SortStableFunc(c.byPrice, func(a, b *candidate) int { return cmp.Compare(a.price+a.fee, b.price+b.fee) })
}

// updateGroupPrices recomputes groupPrice, groups and holdsAll of all candidates, for the item types with remaining copies.
func (c *candidates) updateGroupPrices() {
	uses := make([][]groupUse, len(c.catalogs))
	for i, cat := range c.catalogs {
		uses[i] = c.usesOf(cat)
	}
	for _, x := range c.list {
		for g := range x.groupPrice {
			x.groupPrice[g] = math.Inf(1)
		}
		x.groups, x.holdsAll = 0, true
		for _, u := range uses[x.catalog.index] {
			if u.some.Has(x.typ) {
				x.groupPrice[u.group] = min(x.groupPrice[u.group], u.offers.price[x.typ]+x.fee)
				x.groups |= 1 << u.group
			}
			x.holdsAll = x.holdsAll && u.all.Has(x.typ)
		}
	}
}

// setValues sets value of each candidate. prices[g][d] is the dual price of price group g in dimension d.
func (c *candidates) setValues(prices [][]float64) {
	ceilings := map[lp.GroupSet][]float64{} // results of lp.Ceiling by candidate.groups; most candidates have equal groups
	for _, x := range c.list {
		best, ok := ceilings[x.groups]
		if !ok {
			best = make([]float64, c.width)
			lp.Ceiling(best, x.groups, prices)
			ceilings[x.groups] = best
		}
		x.value = vector.Dot(best, x.capacity)
	}
}

// rank recomputes maxRatio of all candidates after their values changed, and orders them by it. Of equal ones the candidate
// with the higher value comes first, then the one with the lower index.
func (c *candidates) rank() {
	c.highest = 0
	for _, x := range c.list {
		x.maxRatio = x.value / (x.price + x.fee)
		c.highest = max(c.highest, x.value)
	}
	slices.SortFunc(c.list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.maxRatio, a.maxRatio), cmp.Compare(b.value, a.value), a.index-b.index)
	})
}

// byBound yields the candidates by falling upper bound on the ratio (value per dollar) of a pattern, with this bound. No
// pattern has more value than total, the value of all remaining copies. So the bound is maxRatio, or total / (price + fee) if
// the candidate's value exceeds total.
func (c *candidates) byBound(total float64) iter.Seq2[*candidate, float64] {
	return func(yield func(*candidate, float64) bool) {
		next, capped := 0, 0 // positions in list of candidates with a value of at most total, in byPrice of the others
		if total >= c.highest {
			capped = len(c.byPrice)
		}
		for {
			for next < len(c.list) && c.list[next].value > total {
				next++
			}
			for capped < len(c.byPrice) && c.byPrice[capped].value <= total {
				capped++
			}
			var x *candidate
			bound := 0.0
			if next < len(c.list) {
				x, bound = c.list[next], c.list[next].maxRatio
			}
			if capped < len(c.byPrice) {
				if o := c.byPrice[capped]; x == nil || total/(o.price+o.fee) > bound {
					x, bound = o, total/(o.price+o.fee)
				}
			}
			if x == nil || !yield(x, bound) {
				return
			}
			if x.value > total {
				capped++
			} else {
				next++
			}
		}
	}
}
