package binpack

import "github.com/karpenter-go/karpenter/engine/binpack/lp"

// A Relaxation is the linear relaxation of a problem: fractions of bins may be opened and copies may be divided.
type Relaxation struct{ in *instance }

// NewRelaxation returns the relaxation of p. It reads all of p, with the offers of its catalogs, so that Bound may run beside
// Solve.
func NewRelaxation(p *Problem) *Relaxation {
	open := *p
	open.Catalogs = make([]Catalog, len(p.Catalogs))
	for i, c := range p.Catalogs {
		c.Index = nil // it may be in use elsewhere
		open.Catalogs[i] = c
	}
	in := newInstance(&open, Options{})
	for i := range p.Items {
		for j, u := range p.Items[i].On {
			in.catalogs[j].set(u.Offers)
		}
	}
	return &Relaxation{in}
}

// LowerBound returns a cost below which no bins hold so many copies of each item, without fees.
func LowerBound(p *Problem, copies []int) float64 { return NewRelaxation(p).Bound(copies) }

// Bound returns a cost below which no bins hold so many copies of each item. It ignores fees, budgets, conflicts and the supply
// of types; types with a bounded supply are left out, so that the bound holds for bins of the other types. It must not run
// twice at a time.
func (r *Relaxation) Bound(copies []int) float64 {
	in := r.in
	d := &demand{}
	for i := range in.items {
		in.items[i].left = copies[i]
	}
	d.types, d.classes = groupItems(in, in.waiting(), nil)
	d.group(in.catalogs)
	d.rank()
	c := newCandidates(in, d)
	c.recharge(0)
	var bins []lp.CoverBin
	for _, x := range c.relevant(func(x *candidate) bool { return x.catalog.types[x.typ].Supply < 0 }) {
		bins = x.appendBins(bins)
	}
	if len(bins) == 0 {
		return 0
	}
	covering := lp.NewCovering(c.width, d.groups)
	covering.SetBins(bins)
	_, cost := covering.Solve(d.needs(c.width))
	return cost
}
