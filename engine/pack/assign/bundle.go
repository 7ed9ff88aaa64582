package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// Limits of the search for leaders: pods of other classes that kube-scheduler binds to a node before those of the
// bundle's own class.
const (
	maxSequences      = 8 // sequences of leaders that are tried
	maxSequenceLength = 4
	maxLeaders        = 512 // classes that are considered as leaders
)

// bundle adds a segment of one bundle for class c: pods that must share a new node. They have affinity over the
// hostname to each other or to unplaced pods of other classes.
func bundle(a *Assignment, c *compile.Class, s *compile.Stage) {
	if a.Placed.Left(c) == 0 || !a.final && isRequired(a, c) {
		return
	}
	most := a.Placed.Left(c)
	for i := range s.PerNode {
		r := &s.PerNode[i]
		n := mostOnNewNode(a, r)
		if r.Kind == topology.Near || r.Soft && n < most {
			continue // a preference must not divide a bundle
		}
		most = min(most, n)
	}
	budget := maxLeaders
	for _, sequence := range leaders(a, c, s, nil, &budget) {
		var keys []int
		for _, leader := range sequence {
			keys = append(keys, leader.Last().Keys...)
		}
		choices := a.choicesWith(c, s, keys)
		for n := most; n > 0; n-- {
			for _, ch := range choices {
				if may, _ := a.Allows(c, s, ch); may < n {
					continue
				}
				if addBundle(a, c, s, sequence, ch, n) {
					return
				}
			}
		}
	}
}

// isRequired reports whether unplaced pods of another class have required affinity over the hostname to pods of c. The
// bundles of that class then contain a pod of c.
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

// mostOnNewNode returns how many pods with the rule a new node may hold.
func mostOnNewNode(a *Assignment, r *compile.Rule) int {
	switch {
	case r.Kind == topology.Apart && r.Self:
		return 1
	case r.Kind == topology.Spread && r.Self:
		return max(r.MaxSkew-a.Problem.Groups[r.Group].Preloaded, 0)
	}
	return compile.NoLimit
}

// leaders returns sequences of classes whose pods can precede those of c on a node. kube-scheduler can bind one pod of
// each class in this order, then pods of c: the required affinity of each pod is met by earlier ones. In the empty
// sequence, a pod of c comes first. Classes in after are excluded. budget is how many classes may still be examined.
func leaders(a *Assignment, c *compile.Class, s *compile.Stage, after []*compile.Class, budget *int) [][]*compile.Class {
	groups, mayLead := affinityGroups(a, c, s)
	if len(groups) == 0 {
		return [][]*compile.Class{nil}
	}
	var out [][]*compile.Class
	after = append(slices.Clone(after), c)
	for _, other := range a.Problem.Classes {
		if len(after) > maxSequenceLength || *budget <= 0 {
			break
		}
		if *budget--; slices.Contains(after, other) || a.Placed.Left(other) == 0 ||
			slices.ContainsFunc(groups, func(g int) bool { return !slices.Contains(other.Members, g) }) {
			continue
		}
		for _, sequence := range leaders(a, other, other.Last(), after, budget) {
			out = append(out, append(slices.Clone(sequence), other)) // one pod of other comes directly before c
		}
		if len(out) >= maxSequences {
			break
		}
	}
	// A class other than that of the bundle may come first only if it has a single unplaced pod.
	if mayLead && (len(after) == 1 || a.Placed.Left(c) == 1) {
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

// canJoin reports whether n pods of c can share a new node in the domains of ch with one pod of each class of sequence.
func canJoin(a *Assignment, c *compile.Class, s *compile.Stage, sequence []*compile.Class, ch *Choice, n int) bool {
	for i, x := range sequence {
		last := x.Last()
		if !canShare(s, c.Members, last, x.Members, n) || slices.ContainsFunc(last.OverDomains, func(r compile.Rule) bool {
			return r.Kind == topology.Apart && slices.Contains(c.Members, r.Group)
		}) {
			return false
		}
		for _, y := range sequence[:i] {
			if !canShare(last, x.Members, y.Last(), y.Members, 1) {
				return false
			}
		}
	}
	defer func() { a.placing = c }()
	counts := a.Placed.Counts
	for _, x := range sequence {
		a.placing = x
		if may, _ := a.Allows(x, x.Last(), ch); may == 0 {
			return false
		}
		for _, m := range x.Members {
			if g := a.Problem.Groups[m]; g.Key != compile.HostKey {
				counts.Add(m, ch.Domain(g.Key), 1, false)
				defer counts.Add(m, ch.Domain(g.Key), -1, false)
			}
		}
	}
	for i := range s.OverDomains {
		if r := &s.OverDomains[i]; r.Kind != topology.Near &&
			counts.Allows(r, ch.Domain(a.Problem.Groups[r.Group].Key), a.MayBeFirst) < n {
			return false
		}
	}
	return true
}

// canShare reports whether n pods with stage x and one pod with stage y may share a new node. xMembers are the groups
// that count the former, yMembers those that count the latter.
func canShare(x *compile.Stage, xMembers []int, y *compile.Stage, yMembers []int, n int) bool {
	tolerate := func(rules []compile.Rule, members []int) bool {
		return !slices.ContainsFunc(rules, func(r compile.Rule) bool {
			return slices.Contains(members, r.Group) &&
				(r.Kind == topology.Apart || r.Kind == topology.Spread && n+1 > r.MaxSkew)
		})
	}
	return tolerate(x.PerNode, yMembers) && tolerate(y.PerNode, xMembers)
}

// addBundle adds a segment of one bundle: one pod of each class of sequence and n pods of c. It returns false if rules
// do not allow the bundle or no pool can launch a node for it.
func addBundle(a *Assignment, c *compile.Class, s *compile.Stage, sequence []*compile.Class, ch *Choice, n int) bool {
	if !canJoin(a, c, s, sequence, ch, n) {
		return false
	}
	in := a.Problem.Intern
	amount := make([]int64, a.Problem.Dimensions.Len())
	vector.Subtract(amount, c.Demand.Amount, -n)
	shared, terms, tolerations, daemons := c.Demand.Shared, ch.Terms, s.Tolerations, s.Daemons
	rules, ports := s.PerNode, slices.Clone(c.Ports)
	for _, x := range sequence {
		last := x.Last()
		vector.Subtract(amount, x.Demand.Amount, -1)
		shared = shared.With(x.Demand.Shared)
		if terms = in.BothMeet(terms, last.Terms); terms == nil {
			return false
		}
		tolerations = in.BothTolerate(last.Tolerations, tolerations)
		daemons = a.Problem.BothRequire(daemons, last.Daemons)
		rules = slices.Concat(rules, last.PerNode)
		ports = append(ports, x.Ports...)
	}
	demand := in.Demand(amount, shared)
	fit := a.Problem.Catalog.Fit(catalog.Needs{
		Terms: terms, Tolerations: tolerations, Demand: demand, Ports: ports, Extra: a.labelsOf(ch), Daemons: daemons.Filter(),
	})
	if !a.Problem.Catalog.Launchable(a.Limits, fit, demand) {
		return false
	}
	segment := &Segment{
		Index: len(a.Segments), Class: c, Stage: s, Choice: ch, Size: n + len(sequence), Leaders: len(sequence), Demand: demand, Fit: fit,
		Rules: slices.DeleteFunc(slices.Clone(rules), func(r compile.Rule) bool { return r.Kind == topology.Near }),
	}
	segment.count(c, n)
	for _, x := range sequence {
		segment.count(x, 1)
		segment.Pods = append(segment.Pods, a.Placed.Take(x, 1)...)
		a.Enter(x, x.Last(), ch, 1)
	}
	segment.Pods = append(segment.Pods, a.Placed.Take(c, n)...)
	a.Segments = append(a.Segments, segment)
	a.Enter(c, s, ch, n)
	return true
}

// count adds n pods of the class to the segment's Members and Weights.
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
