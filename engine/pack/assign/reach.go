package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// markReachable makes a domain eligible for a spread group if an unplaced pod may get a new node in the domain on which the
// group counts pods (see launchesIn). It skips groups over the hostname. As soon as such a node exists, kube-scheduler
// includes its domain in the skew. If the group counts no pods in the domain, the global minimum is then zero.
func markReachable(a *Assignment) {
	launching := map[launchKey]bool{}
	for i, g := range a.Problem.Groups {
		if g.Key == compile.HostKey || g.Kind != topology.Spread {
			continue
		}
		for _, d := range a.Problem.Keys[g.Key].Reach {
			eligible := a.Placed.Counts.Of(i).Eligible
			eligible[d] = eligible[d] || reaches(a, g, d, launching)
		}
	}
}

// A launchKey identifies a result of launchesIn. labels is the text of the label requirements.
type launchKey struct {
	pool   int
	labels string
}

// reaches reports whether some pool may launch a node in domain d for an unplaced pod, on which the group counts pods.
// launching holds results of launchesIn.
func reaches(a *Assignment, g *compile.Group, d int, launching map[launchKey]bool) bool {
	p := a.Problem
	in := require.NewSet(require.New(p.Keys[g.Key].Label, require.In, p.Keys[g.Key].Names[d]))
	for _, key := range g.OtherKeys {
		if key != compile.HostKey {
			in = in.With(require.New(p.Keys[key].Label, require.Exists))
		}
	}
	terms := []require.Set{{}}
	if g.Filter.Terms != nil {
		terms = g.Filter.Terms.Terms
	}
	for _, pool := range p.Catalog.Pools {
		if !g.Filter.Tolerates(pool) || !slices.ContainsFunc(terms, func(t require.Set) bool { return pool.OffersFor(t.And(in)) != nil }) {
			continue
		}
		k := launchKey{pool.Index, in.String()}
		launches, known := launching[k]
		if !known {
			launches = launchesIn(a, pool, in)
			launching[k] = launches
		}
		if launches {
			return true
		}
	}
	return false
}

// launchesIn reports whether the pool may launch a node with these labels for some unplaced pod. Preferences of the pod are
// dropped. minValues and the pod's topology rules are ignored, so the result may be true although no such node is launched.
// That is safe: one more eligible domain can only lower the global minimum of a spread constraint.
func launchesIn(a *Assignment, pool *catalog.Pool, labels require.Set) bool {
	return slices.ContainsFunc(a.Problem.Classes, func(c *compile.Class) bool {
		if a.Placed.Left(c) == 0 {
			return false
		}
		needs := c.Needs(c.Last())
		needs.Extra = labels
		return a.Limits.AllowAny(pool, a.Problem.Catalog.Fit(needs).ByPool[pool.Index].Types)
	})
}
