package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
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
func bundle(a *Assignment, c *compile.Class, s *compile.Stage) bool {
	if a.Placed.Left(c) == 0 {
		return false
	}
	if _, mayLead := affinityGroups(a, c, s); mayLead && !a.final && isRequired(a, c) {
		return false
	}
	most := a.Placed.Left(c)
	for i := range s.PerNode {
		r := &s.PerNode[i]
		n := mostOnNewNode(r)
		if r.Kind == topology.Near || r.Soft && n < most {
			continue // a preference must not divide a bundle
		}
		most = min(most, n)
	}
	for _, leader := range leaders(a, c, s) {
		choices := a.Choices(c, s)
		if leader != nil {
			choices = a.choicesWith(c, s, leader.Last().Keys)
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
			return r.Kind == topology.Near && slices.Contains(c.Members, r.Group)
		})
	})
}

// mostOnNewNode returns how many pods with the rule a new node may hold, compile.NoLimit if the rule sets no limit.
func mostOnNewNode(r *compile.Rule) int {
	switch {
	case r.Kind == topology.Apart && r.Self:
		return 1
	case r.Kind == topology.Spread && r.Self:
		return r.MaxSkew
	}
	return compile.NoLimit
}

// leaders returns the classes, at most maxLeaders, that can supply the leader of a bundle of c: one pod that meets all
// affinity over the hostname of c's pods. The leader must not depend on other pods. So its class has no required affinity
// over the hostname, or it meets its affinity by itself and is the only unplaced pod of its class. The last element is nil
// if no leader is needed, because a pod of c may come first.
func leaders(a *Assignment, c *compile.Class, s *compile.Stage) []*compile.Class {
	groups, mayLead := affinityGroups(a, c, s)
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
	if mayLead {
		out = append(out, nil)
	}
	return out
}

// affinityGroups returns the topology groups of the stage's affinity over the hostname. mayLead says that a pod of c
// may come first, because it may satisfy all of this affinity by itself (see MayBeFirst).
func affinityGroups(a *Assignment, c *compile.Class, s *compile.Stage) (groups []int, mayLead bool) {
	defer func(was *compile.Class) { a.placing = was }(a.placing)
	a.placing, mayLead = c, true
	for i := range s.PerNode {
		if r := &s.PerNode[i]; r.Kind == topology.Near {
			groups = append(groups, r.Group)
			mayLead = mayLead && a.MayBeFirst(r)
		}
	}
	return groups, mayLead
}

// canJoin reports whether a pod of the leader can share a new node in the domains of ch with pods of c. It is false if a
// spread or anti-affinity rule of one counts the other, or if the leader may not get ch (Assignment.Allows).
func canJoin(a *Assignment, c *compile.Class, s *compile.Stage, leader *compile.Class, ch *Choice) bool {
	last := leader.Last()
	if restricts(s, leader.Members) || restricts(last, c.Members) {
		return false
	}
	a.placing = leader
	defer func() { a.placing = c }()
	may, _ := a.Allows(leader, last, ch)
	return may > 0
}

// restricts reports whether a spread or anti-affinity rule of the stage counts pods of one of the groups, over any topology
// key.
func restricts(s *compile.Stage, groups []int) bool {
	for r := range s.Rules {
		if r.Kind != topology.Near && slices.Contains(groups, r.Group) {
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
	needs := catalog.Needs{
		Terms: ch.Terms, Tolerations: s.Tolerations, Ports: c.Ports, Extra: a.Problem.LabelsIn(ch.Keys, ch.Domains), Daemons: s.Daemons,
	}
	rules := s.PerNode
	if leader != nil {
		if !canJoin(a, c, s, leader, ch) {
			return false
		}
		last := leader.Last()
		vector.Subtract(amount, leader.Demand.Amount, -1)
		if needs.Terms = in.BothMeet(needs.Terms, last.Terms); needs.Terms == nil {
			return false
		}
		needs.Tolerations = in.BothTolerate(last.Tolerations, s.Tolerations)
		needs.Daemons = in.BothAdmit(s.Daemons, last.Daemons)
		needs.Ports = slices.Concat(c.Ports, leader.Ports)
		rules = slices.Concat(rules, last.PerNode)
	}
	needs.Demand = in.Demand(amount)
	fit := a.Problem.Catalog.Fit(needs)
	if !a.Problem.Catalog.Launchable(a.Limits, fit) {
		return false
	}
	segment := &Segment{
		Index: len(a.Segments), Class: c, Stage: s, Choice: ch, Size: n, Demand: needs.Demand, Fit: fit,
		Rules: slices.DeleteFunc(slices.Clone(rules), func(r compile.Rule) bool { return r.Kind == topology.Near }),
	}
	segment.count(c, n)
	if leader != nil {
		segment.Size, segment.Leaders = n+1, 1
		segment.count(leader, 1)
		segment.Pods = a.Placed.Take(leader, 1)
		a.enter(leader, leader.Last(), ch, 1)
	}
	segment.Pods = append(segment.Pods, a.Placed.Take(c, n)...)
	a.Segments = append(a.Segments, segment)
	a.enter(c, s, ch, n)
	return true
}

// count adds the hostname topology groups that count pods of c to s.Members, and n to the weight of each: a bundle has n
// pods of c.
func (s *Segment) count(c *compile.Class, n int) {
	for _, m := range c.NodeMembers {
		at := slices.Index(s.Members, m)
		if at < 0 {
			at = len(s.Members)
			s.Members, s.Weights = append(s.Members, m), append(s.Weights, 0)
		}
		s.Weights[at] += n
	}
}
