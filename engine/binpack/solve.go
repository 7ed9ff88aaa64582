package binpack

import "slices"

// Solve returns bins that hold the items of p at a low total cost. Copies that it cannot pack are in Solution.Left. The
// package comment describes the method.
func Solve(p *Problem, o Options) *Solution {
	s := solve(p, o)
	if o.Fast || !hasPaid(p) || hasBudget(p) {
		return s
	}
	return solveUnpaid(p, s, o)
}

// hasPaid reports whether some bin type is Paid.
func hasPaid(p *Problem) bool {
	return slices.ContainsFunc(p.Catalogs, func(c Catalog) bool {
		return slices.ContainsFunc(c.Types, func(t BinType) bool { return t.Paid })
	})
}

// hasBudget reports whether some catalog has a budget.
func hasBudget(p *Problem) bool {
	return slices.ContainsFunc(p.Catalogs, func(c Catalog) bool { return len(c.Budget) > 0 })
}

// solveUnpaid returns the bins of s with a supply, and new bins for its other copies, packed as if all supplies were used
// up. Dual prices are then those of these copies alone, and package sparse may be used. It returns s if that is not cheaper
// or if the new bins do not hold all these copies. There must be no budgets.
func solveUnpaid(p *Problem, s *Solution, o Options) *Solution {
	rest, out := *p, &Solution{Left: s.Left}
	rest.Supplies, rest.Items = make([]int, len(p.Supplies)), slices.Clone(p.Items)
	for i := range rest.Items {
		rest.Items[i].Copies = 0
	}
	for _, b := range s.Bins {
		if p.Catalogs[b.Catalog].Types[b.Type].Supply >= 0 {
			out.Bins, out.Cost = append(out.Bins, b), out.Cost+b.Price+p.Fee
			continue
		}
		for _, x := range b.Parts {
			rest.Items[x.Item].Copies += x.Copies
		}
	}
	again := solve(&rest, o)
	out.Bins, out.Cost = append(out.Bins, again.Bins...), out.Cost+again.Cost
	if slices.ContainsFunc(again.Left, func(n int) bool { return n > 0 }) || out.Cost >= s.Cost*(1-same) {
		return s
	}
	return out
}

// solve is Solve without solveUnpaid.
func solve(p *Problem, o Options) *Solution {
	in := newInstance(p, o)
	items := in.packable()
	bins := in.pack(items)
	if violatesPriority(items) {
		for _, b := range bins {
			b.close()
		}
		bins = in.packByPriority(items)
	}
	return in.solution(bins)
}

// pack packs the items by construction, package sparse and improvement. It returns one pattern for each bin.
func (in *instance) pack(items []*item) []*pattern {
	s := newSearch(in, items)
	if s == nil {
		return nil
	}
	return s.improve(s.packSparse(s.construct()))
}

// packByPriority packs the items of each priority in turn, highest first, by construction only. The items must be
// ordered by falling priority. It returns one pattern for each bin.
func (in *instance) packByPriority(items []*item) []*pattern {
	var bins []*pattern
	for len(items) > 0 {
		n := slices.IndexFunc(items, func(it *item) bool { return it.Priority != items[0].Priority })
		if n < 0 {
			n = len(items)
		}
		bins = append(bins, newSearch(in, items[:n]).construct()...)
		items = items[n:]
	}
	return bins
}

// violatesPriority reports whether a copy is packed although a copy of an item with higher priority is in no bin. The items must
// be ordered by falling priority.
func violatesPriority(items []*item) bool {
	for i, it := range items {
		if it.left > 0 {
			return slices.ContainsFunc(items[i:], func(o *item) bool {
				return o.Priority < it.Priority && o.left < o.Copies
			})
		}
	}
	return false
}

// solution returns the Solution with one bin for each element of bins. Equal pointers in bins give equal pointers.
func (in *instance) solution(bins []*pattern) *Solution {
	out := &Solution{Left: make([]int, len(in.items))}
	known := map[*pattern]*Bin{}
	for _, p := range bins {
		b := known[p]
		if b == nil {
			b = p.bin()
			known[p] = b
		}
		out.Bins = append(out.Bins, b)
		out.Cost += b.Price + in.problem.Fee
	}
	for i := range in.items {
		out.Left[i] = in.items[i].left
	}
	return out
}

func (p *pattern) bin() *Bin {
	b := &Bin{Catalog: p.catalog.index, Type: p.typ, Offers: p.offers.id, Price: p.offers.price[p.typ], Charge: p.charged()}
	for _, x := range p.parts {
		b.Parts = append(b.Parts, Part{Item: x.item.index, Copies: x.n})
	}
	return b
}
