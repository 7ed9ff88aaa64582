package binpack_test

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack"
)

// violations returns the constraints that the solution violates. It shares no code with the solver.
func violations(p *binpack.Problem, o binpack.Options, s *binpack.Solution) []string {
	var out []string
	no := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	packed, cost := make([]int, len(p.Items)), 0.0
	supplies, budgets := slices.Clone(p.Supplies), make([][]int64, len(p.Catalogs))
	for i := range p.Catalogs {
		budgets[i] = slices.Clone(p.Catalogs[i].Budget)
	}
	for n, b := range s.Bins {
		c := &p.Catalogs[b.Catalog]
		offers := c.Offers.(*labelOffers)
		loads := loadsOf(p, b)
		for _, x := range b.Parts {
			packed[x.Item] += x.Copies
		}
		t := &c.Types[b.Type]
		switch want := price(p, t, offers.byType[b.Type], loads); {
		case want == 0:
			no("bin %d: a %s does not hold %v", n, t.Name, b.Parts)
		case math.Abs(want-b.Price) > 1e-9:
			no("bin %d: price %g, want %g", n, b.Price, want)
		}
		cost += b.Price + p.Fee
		if t.Supply >= 0 {
			supplies[t.Supply]--
		}
		for d := range budgets[b.Catalog] {
			if b.Charge[d] < t.Charge[d] {
				no("bin %d: charged %v, the type %v", n, b.Charge, t.Charge)
			}
			budgets[b.Catalog][d] -= b.Charge[d]
		}
		if !o.RelaxDistinct && !distinct(p, c, b, loads) {
			no("bin %d: too few distinct options", n)
		}
	}
	for i := range p.Items {
		if packed[i]+s.Left[i] != p.Items[i].Copies || s.Left[i] < 0 {
			no("item %s: %d packed and %d left of %d", p.Items[i].Name, packed[i], s.Left[i], p.Items[i].Copies)
		}
	}
	for i, n := range supplies {
		if n < 0 {
			no("supply %d: %d too many", i, -n)
		}
	}
	for i, left := range budgets {
		for d, v := range left {
			if v < 0 && v < p.Catalogs[i].Budget[d] {
				no("budget of catalog %d: %v of %v left", i, left, p.Catalogs[i].Budget)
			}
		}
	}
	if math.Abs(cost-s.Cost) > 1e-6 {
		no("cost %g, bins cost %g", s.Cost, cost)
	}
	if least := binpack.LowerBound(p, packed); !reserved(p) && least > (cost-p.Fee*float64(len(s.Bins)))*(1+1e-6) {
		no("cost %g is below the lower bound %g", cost, least)
	}
	return out
}

// reserved reports whether some type has a supply. The lower bound then holds only for the other types.
func reserved(p *binpack.Problem) bool {
	return slices.ContainsFunc(p.Catalogs, func(c binpack.Catalog) bool {
		return slices.ContainsFunc(c.Types, func(t binpack.BinType) bool { return t.Supply >= 0 })
	})
}

func loadsOf(p *binpack.Problem, b *binpack.Bin) []load {
	offers := p.Catalogs[b.Catalog].Offers.(*labelOffers)
	var out []load
	for _, x := range b.Parts {
		it := &p.Items[x.Item]
		out = append(out, load{it, offers.sets[it.Uses[b.Catalog].Offers], x.Copies})
	}
	return out
}

// distinct reports whether the types that hold the bin's parts meet the conditions.
func distinct(p *binpack.Problem, c *binpack.Catalog, b *binpack.Bin, loads []load) bool {
	offers := c.Offers.(*labelOffers)
	for _, d := range offers.distinct {
		var seen []int32
		for j := range c.Types {
			if c.Types[j].Supply == c.Types[b.Type].Supply && price(p, &c.Types[j], offers.byType[j], loads) > 0 {
				seen = append(seen, d.Values[j]...)
			}
		}
		slices.Sort(seen)
		if len(slices.Compact(seen)) < d.Min {
			return false
		}
	}
	return true
}
