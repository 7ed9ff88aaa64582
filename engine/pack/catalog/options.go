package catalog

import (
	"cmp"
	"slices"
	"sort"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Options are what a node may be launched as: types that hold its pods, cheapest first. Nodes whose pods the same types hold
// share one value.
type Options struct {
	Types     []*Type
	Instances []*model.InstanceType // of Types
}

// Options returns the types with an offering in the set that hold the amounts and the shared volumes and draw from the
// reservation, nil for none. If admits is not nil, only types that it admits are options. The result is shared.
func (p *Pool) Options(s *OfferSet, amount []int64, shared SharedVolumes, r *Reservation, admits func(i int) bool) *Options {
	found := p.Bins().Index.Options(binpack.OfferSet(s.ID), amount, shared.Numbers(), supplyOf(r), admits)
	out := p.options[found]
	if out == nil {
		out = &Options{}
		for _, i := range found.Types {
			out.Types = append(out.Types, p.Types[i])
			out.Instances = append(out.Instances, p.Types[i].InstanceType)
		}
		p.options[found] = out
	}
	return out
}

// Charge returns what a node of type i takes out of the limits of its pool. Where minValues call for further options, any of
// them may be launched, so the node is charged the most of each resource that the type or one of those options has. amount
// is what its pods request.
func (c *Catalog) Charge(l *Limits, p *Pool, s *OfferSet, i int, amount []int64, shared SharedVolumes, admits func(int) bool) model.Resources {
	t := p.Types[i]
	if len(l.Left(p)) == 0 || !s.MinValues || c.settings.RelaxMinValues {
		return t.Capacity
	}
	options := l.Allowed(p, p.Options(s, amount, shared, t.Reservation, admits).Types)
	if charge := p.LeastCharge(s, t, options); charge != nil {
		return charge
	}
	return t.Capacity
}

// LeastCharge returns, of each resource, the most that t or one of the options has that minValues require beside t. Options
// that exceed t least, as a share of the limits, are taken first. It returns nil if all of them are too few.
func (p *Pool) LeastCharge(s *OfferSet, t *Type, options []*Type) model.Resources {
	over := func(o *Type) float64 {
		most := 0.0
		for name, limit := range p.Limits {
			most = max(most, float64(o.Capacity[name]-t.Capacity[name])/float64(max(limit, 1)))
		}
		return most
	}
	options = slices.Clone(options)
	slices.SortStableFunc(options, func(a, b *Type) int { return cmp.Compare(over(a), over(b)) })
	n := sort.Search(len(options)+1, func(n int) bool {
		_, ok := s.Diverse(options[:n])
		return ok
	})
	if n > len(options) {
		return nil
	}
	out := t.Capacity
	for _, o := range options[:n] {
		out = out.Max(o.Capacity)
	}
	return out
}
