package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// markReachable makes a domain eligible for a spread group if a pending pod may get a new node there that the group
// counts. As soon as such a node exists, kube-scheduler includes its domain in the skew. The domain then has no counted
// pods, so the global minimum is zero.
func markReachable(a *Assignment) {
	for i, g := range a.Problem.Groups {
		if g.Key != compile.HostKey && g.Kind == topology.Spread {
			a.MarkReachable(i)
		}
	}
}

// MarkReachable is like markReachable for one group.
func (a *Assignment) MarkReachable(group int) {
	g := a.Problem.Groups[group]
	for _, d := range a.Problem.Keys[g.Key].Reach {
		if !a.Placed.Counts.Of(group).Eligible[d] {
			a.Placed.Counts.SetEligible(group, d, reaches(a, g, d))
		}
	}
}

// reaches reports whether some pool may launch a node in domain d for a pending pod, on which the group counts pods.
func reaches(a *Assignment, g *compile.Group, d int) bool {
	p := a.Problem
	in := require.NewSet(require.New(p.Keys[g.Key].Label, require.In, p.Keys[g.Key].Names[d]))
	for _, pool := range p.Catalog.Pools {
		if !g.Filter.Tolerates(pool) {
			continue
		}
		for _, term := range p.CountingTerms(g) {
			if s := pool.OffersFor(term.And(in)); s != nil && !s.Empty() && launchesIn(a, pool, g, d, in) {
				return true
			}
		}
	}
	return false
}

// A launchKey identifies a result of launchesIn in the cache.
type launchKey struct {
	pool, key, domain int
	with              string
}

// launchesIn reports whether some class may get a new node from the pool in the domain, with the labels of all keys of
// g. in has the label requirements of the domain. A domain for which no node is launched does not affect the skew.
func launchesIn(a *Assignment, pool *catalog.Pool, g *compile.Group, domain int, in require.Set) bool {
	k := launchKey{pool.Index, g.Key, domain, string(encode.Ints(nil, g.OtherKeys))}
	known, ok := a.launching[k]
	if !ok {
		for _, key := range g.OtherKeys {
			if key != compile.HostKey {
				in = in.With(require.New(a.Problem.Keys[key].Label, require.Exists))
			}
		}
		known = slices.ContainsFunc(a.Problem.Classes, func(c *compile.Class) bool {
			return c.Refused.OK() && (a.Placed.Late || a.Placed.Left(c) > 0) && reachable(a, c, g.Key, domain) && launchesFor(a, c, pool, g.Key, in)
		})
		a.launching[k] = known
	}
	return known
}

// reachable reports whether a pod of the class may get a new node in the domain. The node must have the labels of all
// spread keys of the class, because spread constraints ignore other nodes.
func reachable(a *Assignment, c *compile.Class, key, domain int) bool {
	last := c.Last()
	keyOf := func(r compile.Rule) int { return a.Problem.Groups[r.Group].Key }
	if !slices.ContainsFunc(last.OverDomains, func(r compile.Rule) bool { return keyOf(r) == key }) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(a.Choices(c, last), a.LooseChoices(c, last)), func(ch *Choice) bool {
		return ch.Domain(key) == domain && !slices.ContainsFunc(last.OverDomains, func(r compile.Rule) bool {
			return r.Kind != topology.Apart && ch.Domain(keyOf(r)) == compile.Outside
		})
	})
}

// launchesFor reports whether the pool can launch a node in the domain for a pod of the class without its preferences.
// in has the label requirements of the domain. If the class chooses no domain of key, the node may come up in any
// domain. It then suffices that one of its types has an offering in this one.
func launchesFor(a *Assignment, c *compile.Class, pool *catalog.Pool, key int, in require.Set) bool {
	last, cat := c.Last(), a.Problem.Catalog
	needs := catalog.Needs{
		Terms: last.Terms, Tolerations: last.Tolerations, Demand: c.Demand, Ports: c.Ports, Extra: in, Daemons: last.Daemons.Filter(),
	}
	on := cat.Fit(needs).ByPool[pool.Index]
	if on.Set == nil {
		return false
	}
	inAnyDomain := func() catalog.PoolFit {
		needs.Extra = require.Set{}
		any := cat.Fit(needs).ByPool[pool.Index]
		any.Types = any.Types.And(on.Types)
		return any
	}
	if !slices.Contains(last.Keys, key) || slices.Contains(a.openable(c, last), key) {
		on = inAnyDomain()
	}
	_, ok := cat.Launches(a.Limits, pool, on, c.Demand)
	if !ok && on.Set.MinValues { // the types that minValues require may be in different domains
		_, ok = cat.Launches(a.Limits, pool, inAnyDomain(), c.Demand)
	}
	return ok
}
