package catalog

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Limits is what NodePool limits, capacity reservations and commitments still allow while a plan is made.
type Limits struct {
	pools        [][]int64 // pools[i] is what the limits of pool i allow, in the order of Pool.limited; nil for no limits
	reservations []int     // reservations[i] is how many units of reservation or commitment i are left
}

func newLimits(s *model.Snapshot, pools []*Pool, reservations reservations) *Limits {
	l := &Limits{reservations: make([]int, len(reservations))}
	for _, p := range pools {
		l.pools = append(l.pools, p.remaining(s))
	}
	for _, r := range reservations {
		l.reservations[r.Index] = r.Left
	}
	return l
}

// remaining returns the limits of the pool less the capacity of its nodes, nil for no limits. An amount is negative if a
// limit is exceeded. A NodeClaim that is not launched counts with the maximum of each resource over the types that it may
// become.
func (p *Pool) remaining(s *model.Snapshot) []int64 {
	if len(p.limited) == 0 {
		return nil
	}
	left := amounts(p.Limits, p.limited)
	for n := range s.NodesInOrder() {
		if n.Pool != p.Name {
			continue
		}
		size := n.Capacity
		if !n.Launched() {
			for _, t := range ClaimTypes(s, n) {
				size = size.Max(t.Capacity)
			}
		}
		vector.Subtract(left, amounts(size, p.limited), 1)
	}
	return left
}

// ClaimTypes returns the instance types of its NodePool that a NodeClaim without an instance may be launched as.
func ClaimTypes(s *model.Snapshot, n *model.Node) []*model.InstanceType {
	wanted := model.Wishes(s, n)
	return slices.DeleteFunc(slices.Clone(s.Types(n.Pool)), func(t *model.InstanceType) bool {
		_, ok := t.Requirements.Intersects(wanted)
		return !ok
	})
}

// Clone returns a deep copy.
func (l *Limits) Clone() *Limits {
	c := &Limits{pools: slices.Clone(l.pools), reservations: slices.Clone(l.reservations)}
	for i, left := range c.pools {
		c.pools[i] = slices.Clone(left)
	}
	return c
}

// Left returns what the limits of p still allow, in the order of Type.Charge, nil if p has no limits. It is not a copy:
// changing it changes l.
func (l *Limits) Left(p *Pool) []int64 { return l.pools[p.Index] }

// Supplies returns how many units are left of each reservation and commitment, by Reservation.Index. It is not a copy:
// callers must not change it.
func (l *Limits) Supplies() []int { return l.reservations }

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
	for i, left := range l.Left(t.Pool) {
		switch size := t.Charge[i]; {
		case size <= 0 && left >= 0:
		case size > left:
			return 0, model.Verdict{Rule: model.RuleLimit, Resource: t.Pool.limited[i], By: size - left}
		default:
			n = min(n, left/size)
		}
	}
	return n, model.Verdict{}
}

// Take subtracts n nodes of type t from what the limits of its pool and its reservation allow. Each node uses charge of the
// limits, which may exceed Type.Charge. A negative n adds nodes back.
func (l *Limits) Take(t *Type, charge []int64, n int) {
	if r := t.Reservation; r != nil {
		l.reservations[r.Index] -= n * t.Draw
	}
	vector.Subtract(l.Left(t.Pool), charge, n)
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
	if p.settings.RelaxMinValues || len(s.MinValues) == 0 {
		return "", true
	}
	options := p.Options(s, f.Demand.Amount, r).Types
	if len(l.Left(p)) > 0 {
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
