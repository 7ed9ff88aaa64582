package pack

import (
	"cmp"
	"slices"
	"sort"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Where a pool has limits and minValues, a node takes more out of the limits than what its own shape has: as many types as
// minValues ask for must be left among its options, and any of them may be launched.

// takes returns what one node like o takes out of the limits of its pool at least.
func (o *opened) takes() model.Resources {
	if o.toll != nil {
		return o.toll
	}
	return o.shelf.pool.shapes[o.shape].typ.Capacity
}

// need returns what the node's pods ask for.
func (o *opened) need() []int64 {
	need := make([]int64, len(o.shelf.pool.shapes[o.shape].room))
	o.sum(need)
	return need
}

// toll returns what a node like o takes out of the limits where minValues call for further options, nil where they do not. need
// is what its pods ask for.
func (p *problem) toll(o *opened, need []int64) model.Resources {
	pool := o.shelf.pool
	if len(pool.remaining) == 0 || !o.flavour.diverse || p.opts.RelaxMinValues {
		return nil
	}
	var bears func(int) bool
	if o.picky() {
		bears = o.bears
	}
	sh := pool.shapes[o.shape]
	return pool.least(o.flavour, sh, pool.afforded(o.shelf.options(o.flavour, need, o.cargo, sh.reserved, bears).shapes))
}

// least returns, of each resource, the most that sh or one of those options has which minValues ask for beside it, chosen so that
// it is little; nil if all of them are too few.
func (p *pool) least(f *flavour, sh *shape, options []*shape) model.Resources {
	over := func(o *shape) float64 { // as a share of the limit, of the resource where that is most
		most := 0.0
		for name, limit := range p.Limits {
			most = max(most, float64(o.typ.Capacity[name]-sh.typ.Capacity[name])/float64(max(limit, 1)))
		}
		return most
	}
	options = slices.Clone(options)
	slices.SortStableFunc(options, func(a, b *shape) int { return cmp.Compare(over(a), over(b)) })
	n := sort.Search(len(options)+1, func(n int) bool {
		_, ok := minValues(f, options[:n])
		return ok
	})
	if n > len(options) {
		return nil
	}
	out := sh.typ.Capacity
	for _, o := range options[:n] {
		out = out.Max(o.typ.Capacity)
	}
	return out
}

// afforded returns those of the shapes of which limits and reservations allow one more. Since a node counts as the largest of its
// options, of each resource, they allow one with all of them just as well.
func (p *pool) afforded(shapes []*shape) []*shape {
	if len(p.remaining) == 0 {
		return shapes
	}
	return slices.DeleteFunc(slices.Clone(shapes), func(sh *shape) bool {
		n, _ := p.affords(sh)
		return n == 0
	})
}

// explainToll returns which limit leaves fewer options than minValues ask for, for a node that holds the need.
func (p *problem) explainToll(s *shelf, on shelfFit, n *need) model.Verdict {
	var v model.Verdict
	on.holds.each(func(j int) {
		sh := s.pool.shapes[j]
		if !v.OK() {
			return
		}
		if toll := s.pool.least(on.flavour, sh, s.options(on.flavour, n.amount, n.cargo, sh.reserved, nil).shapes); toll != nil {
			_, v = s.pool.leaves(toll, sh.reserved)
		}
	})
	return v
}
