package catalog

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Limits is what NodePool limits, capacity reservations and commitments still allow while a plan is made.
type Limits struct {
	pools        []model.Resources // pools[i] is what the limits of pool i allow, for limited resources only; nil for no limits
	reservations []int             // reservations[i] is how many units of reservation or commitment i are left
}

func newLimits(s *model.Snapshot, pools []*Pool, reservations reservations) *Limits {
	l := &Limits{pools: make([]model.Resources, len(pools)), reservations: make([]int, len(reservations))}
	for i, p := range pools {
		l.pools[i] = remaining(s, p.Pool)
	}
	for _, r := range reservations {
		l.reservations[r.Index] = r.Left
	}
	return l
}

// remaining returns the limits of the pool less the capacity of its nodes, nil for no limits. An amount is negative if a
// limit is exceeded. A NodeClaim that is not launched counts with the maximum of each resource over the types that it may
// become.
func remaining(s *model.Snapshot, p *model.Pool) model.Resources {
	if p.Limits == nil {
		return nil
	}
	left := p.Limits.Plus(nil)
	for n := range s.NodesInOrder() {
		if n.Pool != p.Name {
			continue
		}
		size := n.Capacity
		if !n.Launched() {
			for _, t := range ClaimTypes(n, s.Types(p.Name)) {
				size = size.Max(t.Capacity)
			}
		}
		for name := range left {
			left[name] -= size[name]
		}
	}
	return left
}

// ClaimTypes returns the instance types, among types, that a NodeClaim without an instance may be launched as.
func ClaimTypes(n *model.Node, types []*model.InstanceType) []*model.InstanceType {
	wanted := n.Wishes()
	return slices.DeleteFunc(slices.Clone(types), func(t *model.InstanceType) bool {
		_, ok := t.Requirements.Intersects(wanted)
		return !ok
	})
}

// Clone returns a deep copy.
func (l *Limits) Clone() *Limits {
	c := &Limits{pools: make([]model.Resources, len(l.pools)), reservations: slices.Clone(l.reservations)}
	for i, r := range l.pools {
		c.pools[i] = maps.Clone(r)
	}
	return c
}

// Left returns what the limits of p still allow, nil if p has no limits. It is not a copy: changing it changes l.
func (l *Limits) Left(p *Pool) model.Resources { return l.pools[p.Index] }

// Allow returns how many more nodes of type t the limits of its pool and its reservation allow, Unlimited if they set no
// limit. If it returns 0, the verdict names the limit that is exceeded, or the reservation or commitment that has too few
// units left.
func (l *Limits) Allow(t *Type) (n int64, v model.Verdict) {
	n = Unlimited
	if r := t.Reservation; r != nil {
		if n = int64(l.reservations[r.Index] / t.Draw); n <= 0 {
			return 0, model.Verdict{Rule: model.RuleOffering, Cause: model.CauseReservation, Subject: r.ID}
		}
	}
	limits := l.pools[t.Pool.Index]
	if len(limits) == 0 {
		return n, v
	}
	for _, name := range limits.Names() {
		size := t.Capacity[name]
		if name == model.Nodes {
			size = 1
		}
		left := limits[name]
		if size <= 0 && left >= 0 {
			continue
		}
		if size > left {
			return 0, model.Verdict{Rule: model.RuleLimit, Resource: name, By: size - left}
		}
		n = min(n, left/size)
	}
	return n, model.Verdict{}
}

// Take subtracts n nodes of type t from what the limits of its pool and its reservation allow. Each node uses charge of the
// limits, and 1 of a limit on nodes. A negative n adds nodes back.
func (l *Limits) Take(t *Type, charge model.Resources, n int64) {
	if r := t.Reservation; r != nil {
		l.reservations[r.Index] -= int(n) * t.Draw
	}
	limits := l.pools[t.Pool.Index]
	for name := range limits {
		size := charge[name]
		if name == model.Nodes {
			size = 1
		}
		limits[name] -= size * n
	}
}

// AllowAny reports whether the limits and reservations allow one more node of some of the types of p.
func (l *Limits) AllowAny(p *Pool, types typeset.Set) (found bool) {
	types.Each(func(i int) {
		n, _ := l.Allow(p.Types[i])
		found = found || n > 0
	})
	return found
}

// Launches reports whether p can launch a node that holds the demand of f, within limits and minValues. If limits allow a
// node but minValues are not met, missing is a label with too few values. If limits allow none, it is empty.
func (c *Catalog) Launches(l *Limits, p *Pool, f *Fit) (missing string, ok bool) {
	var tried []*Reservation
	f.ByPool[p.Index].Types.Each(func(i int) {
		t := p.Types[i]
		if n, _ := l.Allow(t); ok || n <= 0 || slices.Contains(tried, t.Reservation) {
			return
		}
		tried = append(tried, t.Reservation)
		missing, ok = c.meetsMinValues(l, p, f, t.Reservation)
	})
	return missing, ok
}

// Launchable reports whether some pool can launch a node that holds the demand of f, within limits and minValues.
func (c *Catalog) Launchable(l *Limits, f *Fit) bool {
	return slices.ContainsFunc(c.Pools, func(p *Pool) bool {
		_, ok := c.Launches(l, p, f)
		return ok
	})
}

// meetsMinValues reports whether a node of p may become enough different types to meet minValues. These types have an
// offering in the set of f, hold its demand, use reservation r (nil: none) and are within the limits. If minValues are not
// met, missing is the first label with too few values.
func (c *Catalog) meetsMinValues(l *Limits, p *Pool, f *Fit, r *Reservation) (missing string, ok bool) {
	s := f.ByPool[p.Index].Set
	if c.settings.RelaxMinValues || len(s.MinValues) == 0 {
		return "", true
	}
	options := p.Options(s, f.Demand.Amount, r).Types
	if l.Left(p) != nil {
		// If the limits allow each type alone, they allow the maximum of each resource, which the node is charged.
		options = slices.DeleteFunc(slices.Clone(options), func(t *Type) bool {
			n, _ := l.Allow(t)
			return n == 0
		})
	}
	return s.Diverse(options)
}

// Diverse reports whether the options have enough distinct values of each label to meet minValues. If not, missing is
// the first label with too few values.
func (s *OfferSet) Diverse(options []*Type) (missing string, ok bool) {
	for _, r := range s.MinValues {
		values := map[string]bool{}
		for _, t := range options {
			maps.Copy(values, t.OwnValues(r))
		}
		if len(values) < r.MinValues() {
			return r.Key(), false
		}
	}
	return "", true
}
