package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A shape is an instance type as one pool would launch it: the room that is left once the daemons are on it.
type shape struct {
	pool *pool
	typ  *model.InstanceType
	// reqs are the type's requirements narrowed by the pool's.
	reqs require.Set
	// offers are the available offerings that the pool allows, cheapest first. Never empty.
	offers   []model.Offering
	room     []int64
	overhead model.Resources
}

// A pool is a usable model.Pool with its shapes and what its limits leave.
type pool struct {
	*model.Pool
	shapes []*shape
	// remaining is what the limits leave, by resource; only limited resources are in it.
	remaining model.Resources
	// empty says why the pool has no shapes, if it has none.
	empty model.Verdict
}

// compilePools returns the usable pools in the order in which they are tried, and the verdicts of the others.
func compilePools(s *model.Snapshot, cols columns, o Options) (pools []*pool, unusable []model.PoolVerdict) {
	daemons := s.Daemons()
	for _, p := range s.Pools() {
		if v := p.Usable(); !v.OK() {
			unusable = append(unusable, model.PoolVerdict{Pool: p.Name, Verdict: v})
			continue
		}
		c := &pool{Pool: p}
		c.remaining = remaining(s, p)
		c.compileShapes(s.Types(p.Name), daemons, cols, o)
		pools = append(pools, c)
	}
	return pools, unusable
}

func (p *pool) compileShapes(types []*model.InstanceType, daemons []*model.Daemon, cols columns, o Options) {
	onPool := daemonsOn(daemons, p.Pool, o)
	matched := false
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
			continue
		}
		matched = true
		sh := &shape{pool: p, typ: t, reqs: t.Requirements.And(p.Requirements)}
		sh.offers = offers(t, p.Requirements)
		if len(sh.offers) == 0 {
			continue
		}
		sh.overhead = overhead(onPool, sh.reqs, o)
		sh.room = cols.vector(t.Allocatable.Minus(sh.overhead))
		p.shapes = append(p.shapes, sh)
	}
	slices.SortStableFunc(p.shapes, func(a, b *shape) int { return cmp.Compare(a.typ.Name, b.typ.Name) })
	switch {
	case len(p.shapes) > 0:
	case matched:
		p.empty = model.Verdict{Rule: model.RuleOffering, Subject: "every instance type that the pool allows is out"}
	default:
		p.empty = model.Verdict{Rule: model.RuleLabels, Subject: "the pool's requirements match no instance type"}
	}
}

// offers returns the available offerings of t that reqs allow, cheapest first.
func offers(t *model.InstanceType, reqs require.Set) []model.Offering {
	var out []model.Offering
	for _, off := range t.Offerings {
		if !off.Available {
			continue
		}
		if _, ok := reqs.Intersects(off.Requirements); ok {
			out = append(out, off)
		}
	}
	slices.SortStableFunc(out, model.Offering.Compare)
	return out
}

// A resident is a daemon that tolerates a pool's taints, with the terms one of which a node must satisfy.
type resident struct {
	requests model.Resources
	terms    []require.Set
}

// daemonsOn returns the daemons that a pool's taints let in.
func daemonsOn(daemons []*model.Daemon, p *model.Pool, o Options) []resident {
	var out []resident
	for _, d := range daemons {
		if _, ok := tolerates(d.Pod.Object.Spec.Tolerations, p.Taints); !ok {
			continue
		}
		s := sign(d.Pod)
		s.Unsupported = "" // a daemon runs wherever its node is; ports and volumes do not keep it away
		c := newClass(d.Pod, s, o)
		if c.refusal.OK() {
			out = append(out, resident{requests: d.Pod.Requests, terms: c.terms})
		}
	}
	return out
}

// started are labels that every node of ours gets, so that daemons may select on them.
var started = []string{apiv1.NodeRegisteredLabelKey, apiv1.NodeInitializedLabelKey}

// overhead sums what the daemons that would run on a node with these requirements ask for.
func overhead(residents []resident, reqs require.Set, o Options) model.Resources {
	for _, key := range started {
		reqs = reqs.With(require.New(key, corev1.NodeSelectorOpIn, "true"))
	}
	sum := model.Resources{}
	for _, r := range residents {
		if slices.ContainsFunc(r.terms, func(t require.Set) bool {
			_, ok := reqs.Compatible(t, o.wellKnown)
			return ok
		}) {
			sum = sum.Plus(r.requests)
		}
	}
	return sum
}

// wellKnown reports whether a node may get the label key though nothing has defined it yet.
func (o Options) wellKnown(key string) bool { return o.Labels.WellKnown.Has(key) }

// remaining returns what the pool's limits leave over its nodes. A claim that is not launched may become the largest of
// its options, and is counted so.
func remaining(s *model.Snapshot, p *model.Pool) model.Resources {
	if p.Limits == nil {
		return nil
	}
	left := p.Limits.Plus(nil)
	for _, n := range s.Nodes() {
		if n.Pool != p.Name {
			continue
		}
		size := n.Capacity
		if !n.Launched() {
			for _, t := range wishedTypes(n, s.Types(p.Name)) {
				size = size.Max(t.Capacity)
			}
		}
		for name := range left {
			left[name] -= size[name]
		}
	}
	return left
}

// affords returns how many instances of t the limits still allow, and the first limit in the way when it is none.
func (p *pool) affords(t *model.InstanceType) (n int64, v model.Verdict) {
	n = unlimited
	for _, name := range p.remaining.Names() {
		size := t.Capacity[name]
		if name == model.Nodes {
			size = 1
		}
		left := p.remaining[name]
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

// debit takes n instances of t out of the limits.
func (p *pool) debit(t *model.InstanceType, n int64) {
	for name := range p.remaining {
		size := t.Capacity[name]
		if name == model.Nodes {
			size = 1
		}
		p.remaining[name] -= size * n
	}
}
