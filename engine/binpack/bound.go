package binpack

import "github.com/karpenter-go/karpenter/engine/binpack/lp"

// A Relaxation is the linear relaxation of a Problem: any fraction of a bin can be opened, and copies can be divided.
type Relaxation struct{ in *instance }

// NewRelaxation returns the relaxation of p. It calls Catalog.Offers for all offer sets of the items, because only one
// goroutine may call Offers. After that, Bound does not call Offers and can run in another goroutine than Solve.
func NewRelaxation(p *Problem) *Relaxation {
	unbudgeted := *p
	unbudgeted.Catalogs = make([]Catalog, len(p.Catalogs))
	for i, c := range p.Catalogs {
		c.Index = nil  // Solve may use the index in another goroutine
		c.Budget = nil // Bound ignores budgets
		unbudgeted.Catalogs[i] = c
	}
	in := newInstance(&unbudgeted, Options{})
	for i := range p.Items {
		for j, u := range p.Items[i].Uses {
			in.catalogs[j].set(u.Offers)
		}
	}
	return &Relaxation{in}
}

// LowerBound returns a lower bound on the price of bins that hold copies[i] copies of item i, see Relaxation.Bound.
func LowerBound(p *Problem, copies []int) float64 { return NewRelaxation(p).Bound(copies) }

// Bound returns a lower bound on the sum of Bin.Price of bins that hold copies[i] copies of each item i. It ignores fees,
// budgets, conflict groups and Distinct conditions. It is valid for bins of types without a supply. Calls must not run
// concurrently.
func (r *Relaxation) Bound(copies []int) float64 {
	in := r.in
	for i := range in.items {
		in.items[i].left = copies[i]
	}
	set := newItemSet(in, in.packable(), nil)
	set.resetByValue()
	candidates := newCandidates(in, set)
	bins := candidates.bins(func(x *candidate) bool { return x.catalog.types[x.typ].Supply < 0 })
	if len(bins) == 0 {
		return 0
	}
	covering := lp.NewCovering(candidates.width, set.groups)
	covering.SetBins(bins)
	_, cost := covering.Solve(set.needs(candidates.width))
	return cost
}
