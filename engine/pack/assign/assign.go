package assign

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/pack/existing"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// An Assignment records which pods go to existing nodes, and in which topology domains the other pods get new nodes.
type Assignment struct {
	Problem *compile.Problem
	// Limits are what NodePool limits, reservations and commitments allow before new nodes are planned.
	Limits *catalog.Limits
	// Placed has the pods on existing nodes, and the counts and order of all placed pods.
	Placed *existing.Placement
	// Segments are the pods that need new nodes.
	Segments []*Segment

	quotas Quotas // less the pods that got the choices so far
	// final is set when a pass over all classes has placed no pod. Before that, pods of a class are not placed while their
	// place may depend on unplaced pods of another class, see MayBeFirst and bundle. Once final is set, they are placed.
	final   bool
	choices map[choiceKey][]*Choice // cached results of the method combinations
	visits  map[string]int          // by namespace, see maxNamespaceVisits
}

// Assign returns an assignment of the pods of p, except refused classes and omitted pods. quotas are what earlier
// assignments of p have shown.
func Assign(p *compile.Problem, quotas Quotas, omitted map[*model.Pod]bool) *Assignment {
	a := &Assignment{
		Problem: p, Limits: p.Catalog.Limits, Placed: existing.New(p, omitted), quotas: maps.Clone(quotas),
		choices: map[choiceKey][]*Choice{}, visits: map[string]int{},
	}
	markReachable(a)
	// The plan that chose the nodes of these pods has checked that no other pod had to come first.
	a.Placed.MayBeFirst = func(_ *compile.Class, r *compile.Rule) bool { return a.Placed.Counts.IsFirst(r) }
	a.Placed.KeepNominated()
	a.Placed.MayBeFirst = a.MayBeFirst
	for {
		moved := false
		for _, c := range p.Classes {
			moved = a.placeClass(c) || moved
		}
		switch {
		case len(p.Groups) == 0, !moved && a.final:
			return a
		case !moved:
			a.final = true
		}
	}
}

// placeClass places as many pods of the class as possible, on existing nodes or in segments. It reports whether it placed
// any.
func (a *Assignment) placeClass(c *compile.Class) bool {
	all := a.Placed.Left(c)
	if all == 0 {
		return false
	}
	for i := range c.Stages {
		if a.Placed.Left(c) > 0 {
			a.Placed.FirstFit(c, &c.Stages[i])
			if i == len(c.Stages)-1 {
				a.Placed.MakeRoom(c, &c.Stages[i])
			}
			a.chooseDomains(c, &c.Stages[i])
		}
	}
	return a.Placed.Left(c) < all
}

// chooseDomains assigns topology domains for new nodes to the unplaced pods of the class, as far as the stage allows. It
// adds these pods to segments. If DaemonSet pods can meet the affinity of the stage over the hostname, nodes that are
// certain to run them are tried first. Other pods with affinity over the hostname are added as bundles.
func (a *Assignment) chooseDomains(c *compile.Class, s *compile.Stage) {
	if s.DaemonAffinity != nil {
		a.spreadOver(c, s, a.combinations(c, s, s.Keys, s.DaemonAffinity))
	}
	if s.HasHostAffinity() {
		for addNextBundle(a, c, s) {
		}
		return
	}
	a.spreadOver(c, s, a.Choices(c, s))
}

// spreadOver repeatedly assigns the best choice to the next pods of the class, until no choice allows more pods. A pod in one
// domain may allow the next one on an existing node of another domain, so existing nodes are tried again, until as many tries
// as there are choices have placed no pod.
func (a *Assignment) spreadOver(c *compile.Class, s *compile.Stage, choices []*Choice) {
	again := len(s.OverDomains) > 0 && a.Placed.HasRoom(c, s)
	for vain := 0; a.Placed.Left(c) > 0; {
		best, n := a.bestChoice(c, s, choices)
		if best == nil {
			return
		}
		a.countOnNewNodes(c, s, best, n)
		a.addSegment(c, s, best, n)
		a.Placed.KeepMore(c)
		if !again || vain > len(choices) {
			continue
		}
		left := a.Placed.Left(c)
		if a.Placed.FirstFit(c, s); a.Placed.Left(c) < left {
			vain = 0
		} else {
			vain++
		}
	}
}

// best returns the choice for the next pods, and how many pods get it. Of the choices that Allows admits, it is the least
// crowded, and of equally crowded ones the cheapest (Fit.PerPod). best is nil if Allows admits none.
func (a *Assignment) bestChoice(c *compile.Class, s *compile.Stage, choices []*Choice) (best *Choice, n int) {
	least := 0
	for _, ch := range choices {
		may, crowd := a.Allows(c, s, ch)
		if may == 0 {
			continue
		}
		if best == nil || crowd < least || crowd == least && ch.Fit.PerPod < best.Fit.PerPod*(1-catalog.Same) {
			best, least, n = ch, crowd, may
		}
	}
	if best == nil {
		return nil, 0
	}
	if len(choices) > 1 && a.oneByOne(c, s) {
		n = 1
	}
	return best, min(n, a.Placed.Left(c))
}

// oneByOne reports whether a placed pod of the class may change which choice is best for the next pod.
func (a *Assignment) oneByOne(c *compile.Class, s *compile.Stage) bool {
	return a.isCountedByDomainSpread(c) ||
		slices.ContainsFunc(s.OverDomains, func(r compile.Rule) bool { return r.Kind != topology.Affinity })
}

// spreadOverDomainsCounts reports whether a spread constraint over a label that nodes share counts pods of the class.
func (a *Assignment) isCountedByDomainSpread(c *compile.Class) bool {
	return slices.ContainsFunc(c.Members, func(m int) bool {
		g := a.Problem.Groups[m]
		return g.Kind == topology.Spread && g.Key != compile.HostKey
	})
}

// Allows returns how many more pods of the class may get the choice. crowd is the number of pods that the spread
// constraints of the stage count in its domains. If the stage has no rules over labels that nodes share, all spread
// constraints over such labels that count the class are used: those of other pods, and preferences of the class that
// earlier stages had. Allows returns 0 for spread over a key whose values on new nodes are not all known
// (Key.Open): another new node might be in an empty domain.
func (a *Assignment) Allows(c *compile.Class, s *compile.Stage, ch *Choice) (n, crowd int) {
	counts := a.Placed.Counts
	n = compile.NoLimit
	if quota, ok := a.quotas[keyOf(c, s, ch)]; ok {
		n = quota
	}
	for i := range s.OverDomains {
		r := &s.OverDomains[i]
		key := a.Problem.Groups[r.Group].Key
		d := ch.Domain(key)
		n = min(n, counts.Allows(c, r, d, a.MayBeFirst))
		if r.Kind == topology.Spread && a.Problem.Keys[key].Open {
			return 0, 0
		}
		if r.Kind == topology.Spread && d >= 0 {
			crowd += int(counts.Of(r.Group).Present[d])
		}
	}
	for _, m := range c.Members {
		g := a.Problem.Groups[m]
		if g.Key == compile.HostKey {
			continue
		}
		d := ch.Domain(g.Key)
		n = min(n, counts.Spare(m, d))
		if d >= 0 && g.Kind == topology.Spread && len(s.OverDomains) == 0 {
			crowd += int(counts.Of(m).Present[d])
		}
	}
	return n, crowd
}

// enter records that n pods of the class get new nodes in the domains of the choice. It adds them to the counts, applies
// their required anti-affinity (Counts.Reserve), and subtracts n from the quota of the choice, if it has one.
func (a *Assignment) countOnNewNodes(c *compile.Class, s *compile.Stage, ch *Choice, n int) {
	if key := keyOf(c, s, ch); a.quotas[key] > 0 {
		a.quotas[key] -= n
	}
	counts := a.Placed.Counts
	for _, m := range c.Members {
		g := a.Problem.Groups[m]
		if g.Key == compile.HostKey {
			counts.Of(m).MayExist = true // a new node has no domain yet
		} else if !g.LacksLabel(ch.Domain) {
			counts.Add(m, ch.Domain(g.Key), n, surelyCounts(g, c, s))
		}
	}
	for i := range s.OverDomains {
		r := &s.OverDomains[i]
		counts.Reserve(r, ch.Domain(a.Problem.Groups[r.Group].Key))
	}
}

// surelyCounts reports whether the group is certain to count pods of the class on each node that they may get. It is
// certain if the group has no node filter, or if its filter is the node affinity and tolerations of the class itself.
func surelyCounts(g *compile.Group, c *compile.Class, s *compile.Stage) bool {
	return (g.Filter.Terms == nil || g.Filter.Terms == c.Required) &&
		(g.Filter.Tolerations == nil || g.Filter.Tolerations == s.Tolerations)
}

// MayBeFirst reports whether a pod of class c may satisfy an affinity rule by itself, because no other pod does
// (kube-scheduler's first-pod exception). Before final is set, no unplaced pod of another class may match the rule either.
func (a *Assignment) MayBeFirst(c *compile.Class, r *compile.Rule) bool {
	if !a.Placed.Counts.IsFirst(r) {
		return false
	}
	if a.final {
		return true
	}
	classes := a.Problem.Groups[r.Group].Classes
	return !slices.ContainsFunc(classes, func(o *compile.Class) bool { return o != c && a.Placed.Left(o) > 0 })
}
