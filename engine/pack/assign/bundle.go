package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// Limits of the search for a leader: a pod of another class that kube-scheduler binds to a node before those of the
// bundle's own class.
const (
	maxLeaders  = 8   // leaders that are tried
	maxExamined = 512 // classes, from the first in placement order, that are considered as leaders
)

// bundle adds a segment of one bundle for class c: pods that must share a new node. They have affinity over the
// hostname to each other or to an unplaced pod of another class, the leader. It returns false if it adds none. Until
// Assignment.final is set, it adds none for a class that needs no leader and whose pods the bundles of another class need
// (isRequired).
func addNextBundle(a *Assignment, c *compile.Class, s *compile.Stage) bool {
	if a.Placed.Left(c) == 0 {
		return false
	}
	groups, mayLead := affinityGroups(a, c, s)
	if mayLead && !a.final && isRequired(a, c) {
		return false
	}
	most := a.Placed.Left(c)
	for _, r := range s.PerNode {
		switch {
		case r.Soft || !r.Self: // a preference must not divide a bundle
		case r.Kind == topology.AntiAffinity:
			most = min(most, 1)
		case r.Kind == topology.Spread:
			most = min(most, r.MaxSkew)
		}
	}
	candidates := leaders(a, c, groups)
	if mayLead {
		candidates = append(candidates, nil)
	}
	for _, leader := range candidates {
		choices := a.Choices(c, s)
		if leader != nil {
			choices = a.Choices(c, s, leader.Last().Keys...)
		}
		least := most // a stage with preferences must not divide the pods among several bundles
		if s == c.Last() {
			least = 1
		}
		for n := most; n >= least; n-- {
			for _, ch := range choices {
				if may, _ := a.Allows(c, s, ch); may >= n && addBundle(a, c, s, leader, ch, n) {
					return true
				}
			}
		}
	}
	return false
}

// isRequired reports whether unplaced pods of another class have required affinity over the hostname to pods of c. A
// bundle of that class may then need a pod of c as its leader.
func isRequired(a *Assignment, c *compile.Class) bool {
	return slices.ContainsFunc(a.Problem.Classes, func(o *compile.Class) bool {
		if o == c || a.Placed.Left(o) == 0 {
			return false
		}
		return slices.ContainsFunc(o.Last().PerNode, func(r compile.Rule) bool {
			return r.Kind == topology.Affinity && slices.Contains(c.Members, r.Group)
		})
	})
}

// leaders returns the classes, at most maxLeaders, that can supply the leader of a bundle of c: one pod that all of the
// groups count, which are those of the affinity over the hostname of c's pods. The leader must not depend on other pods. So
// its class has no required affinity over the hostname, or it meets its affinity by itself and is the only unplaced pod of its
// class.
func leaders(a *Assignment, c *compile.Class, groups []int) []*compile.Class {
	var out []*compile.Class
	for _, other := range a.Problem.Classes[:min(maxExamined, len(a.Problem.Classes))] {
		if other == c || a.Placed.Left(other) == 0 || len(out) == maxLeaders ||
			slices.ContainsFunc(groups, func(g int) bool { return !slices.Contains(other.Members, g) }) {
			continue
		}
		if own, alone := affinityGroups(a, other, other.Last()); len(own) == 0 || alone && a.Placed.Left(other) == 1 {
			out = append(out, other)
		}
	}
	return out
}

// affinityGroups returns the topology groups of the stage's affinity over the hostname. mayLead says that a pod of c
// may come first, because it may satisfy all of this affinity by itself (see MayBeFirst).
func affinityGroups(a *Assignment, c *compile.Class, s *compile.Stage) (groups []int, mayLead bool) {
	mayLead = true
	for i := range s.PerNode {
		if r := &s.PerNode[i]; r.Kind == topology.Affinity {
			groups = append(groups, r.Group)
			mayLead = mayLead && a.MayBeFirst(c, r)
		}
	}
	return groups, mayLead
}

// restricts reports whether a spread or anti-affinity rule of the stage counts pods of one of the groups, over any topology
// key.
func restricts(s *compile.Stage, groups []int) bool {
	for r := range s.Rules {
		if r.Kind != topology.Affinity && slices.Contains(groups, r.Group) {
			return true
		}
	}
	return false
}

// addBundle adds a segment of one bundle: one pod of the leader (nil: none) and n pods of c. It returns false if rules
// do not allow the bundle or no pool can launch a node for it.
func addBundle(a *Assignment, c *compile.Class, s *compile.Stage, leader *compile.Class, ch *Choice, n int) bool {
	in := a.Problem.Intern
	amount := make([]int64, a.Problem.Dimensions.Len())
	vector.Subtract(amount, c.Demand.Amount, -n)
	needs := c.Needs(s)
	needs.Terms, needs.Extra = ch.Terms, a.Problem.LabelsIn(ch.Keys, ch.Domains)
	rules := s.PerNode
	if leader != nil {
		last := leader.Last()
		if may, _ := a.Allows(leader, last, ch); may == 0 || restricts(s, leader.Members) || restricts(last, c.Members) {
			return false
		}
		vector.Subtract(amount, leader.Demand.Amount, -1)
		if needs.Terms = in.IntersectTerms(needs.Terms, last.Terms); needs.Terms == nil {
			return false
		}
		needs.Tolerations = in.IntersectTolerations(last.Tolerations, s.Tolerations)
		needs.Daemons = in.IntersectFilters(s.Daemons, last.Daemons)
		needs.Ports = slices.Concat(c.Ports, leader.Ports)
		rules = slices.Concat(rules, last.PerNode)
	}
	needs.Demand = in.Demand(amount)
	fit := a.Problem.Catalog.Fit(needs)
	if !a.Problem.Catalog.Launchable(a.Limits, fit) {
		return false
	}
	segment := &Segment{Class: c, Stage: s, Choice: ch, Size: n, Leader: leader, Demand: needs.Demand, Fit: fit, Rules: rules}
	if leader != nil {
		segment.Size++
		segment.Pods = a.Placed.Take(leader, 1)
		a.countOnNewNodes(leader, leader.Last(), ch, 1)
	}
	segment.Pods = append(segment.Pods, a.Placed.Take(c, n)...)
	a.Segments = append(a.Segments, segment)
	a.countOnNewNodes(c, s, ch, n)
	return true
}
