package catalog

import (
	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Options are the types that a planned node may be launched as, cheapest first.
type Options struct {
	Types     []*Type
	Instances []*model.InstanceType // the instance types of Types, in the same order
}

// Options returns the types that have an offering in s, hold amount, use reservation r (nil: none), and are in each of the
// sets among. Callers must not change the result, because calls that find the same types share it.
func (p *Pool) Options(s *OfferSet, amount []int64, r *Reservation, among ...typeset.Set) *Options {
	found := p.Bins().Index.Options(binpack.OfferSet(s.ID), amount, supplyOf(r), among...)
	out := p.options[found]
	if out == nil {
		out = &Options{Types: make([]*Type, 0, len(found.Types)), Instances: make([]*model.InstanceType, 0, len(found.Types))}
		for _, i := range found.Types {
			out.Types = append(out.Types, p.Types[i])
			out.Instances = append(out.Instances, p.Types[i].InstanceType)
		}
		p.options[found] = out
	}
	return out
}
