package compile

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A DaemonFilter selects new nodes by the DaemonSets that may run on them, for pods with constraints on DaemonSet pods.
// Equal filters share a pointer. A nil filter allows all nodes.
type DaemonFilter struct {
	number  int
	problem *Problem
	// avoid lists DaemonSets that must not run on the node: indices in Problem.Daemons.
	avoid []int
	// mustRun lists affinity groups over the hostname. Each must count a pod of a DaemonSet that is certain to run on the
	// node.
	mustRun []int
}

// Number returns a number from 1 on. Equal filters have equal numbers.
func (f *DaemonFilter) Number() int { return f.number }

// Admits reports whether a new node meets the filter. The parameter on lists the DaemonSets whose pods may run on the
// node. Admits implements catalog.PresenceFilter.
func (f *DaemonFilter) Admits(on []catalog.Presence) bool {
	for _, daemon := range f.avoid {
		if slices.ContainsFunc(on, func(x catalog.Presence) bool { return x.Index == daemon }) {
			return false
		}
	}
	return !slices.ContainsFunc(f.mustRun, func(group int) bool {
		return !slices.ContainsFunc(on, func(x catalog.Presence) bool {
			d := f.problem.Daemons[x.Index]
			return x.Certain && d.Certain && slices.Contains(d.Members, group)
		})
	})
}

// Filter returns f as a catalog.PresenceFilter, and a nil interface for a nil f.
func (f *DaemonFilter) Filter() catalog.PresenceFilter {
	if f == nil {
		return nil
	}
	return f
}

// NarrowToDaemons narrows node terms to the nodes on which mustRun is met: for each group of mustRun, a certain
// DaemonSet whose pods the group counts selects the node.
func (f *DaemonFilter) NarrowToDaemons(a *catalog.NodeTerms) *catalog.NodeTerms {
	if f == nil {
		return a
	}
	in := f.problem.Intern
	for _, group := range f.mustRun {
		var terms []require.Set
		for _, i := range f.problem.Groups[group].Daemons {
			if d := f.problem.Daemons[i]; d.Certain {
				terms = append(terms, d.Selects...)
			}
		}
		a = in.Narrow(a, in.Terms(terms))
	}
	return a
}

// filterDaemons sets Daemons and DaemonAffinity of the stage.
func filterDaemons(c *compiler, s *Spec, stage *Stage) {
	if len(c.Daemons) == 0 {
		return
	}
	f := DaemonFilter{problem: c.Problem}
	counted := true // whether each affinity rule counts DaemonSet pods
	for _, r := range stage.PerNode {
		switch g := c.Groups[r.Group]; r.Kind {
		case topology.Near:
			counted = counted && len(g.Daemons) > 0
			f.mustRun = append(f.mustRun, r.Group)
		default:
			f.avoid = append(f.avoid, g.Daemons...)
		}
	}
	for i, d := range c.Daemons {
		if d != nil && slices.ContainsFunc(d.Repels, func(m int) bool { return c.Groups[m].Key == HostKey && slices.Contains(s.Members, m) }) {
			f.avoid = append(f.avoid, i)
		}
	}
	alone := f
	alone.mustRun = nil
	stage.Daemons = c.filters.intern(&alone)
	if len(f.mustRun) > 0 && counted {
		stage.DaemonAffinity = c.filters.intern(&f)
	}
}

// A filterTable maps the encoding of a filter to the one filter with that encoding.
type filterTable map[string]*DaemonFilter

// intern returns the filter of the table that equals f, and adds f if there is none. It returns nil if f allows all
// nodes.
func (t filterTable) intern(f *DaemonFilter) *DaemonFilter {
	if len(f.avoid)+len(f.mustRun) == 0 {
		return nil
	}
	b := encode.Ints(encode.Int(nil, int64(len(f.avoid))), f.avoid)
	b = encode.Ints(b, f.mustRun)
	known := t[string(b)]
	if known == nil {
		known = f
		known.number = 1 + len(t)
		t[string(b)] = known
	}
	return known
}

// BothRequire returns the filter for nodes that meet both a and b.
func (p *Problem) BothRequire(a, b *DaemonFilter) *DaemonFilter {
	switch {
	case a == nil:
		return b
	case b == nil || a == b:
		return a
	}
	return p.filters.intern(&DaemonFilter{
		problem: p, avoid: slices.Concat(a.avoid, b.avoid), mustRun: slices.Concat(a.mustRun, b.mustRun),
	})
}
