package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/pack/existing"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// An Assignment says which pods go to existing nodes and which to new nodes in which domains.
type Assignment struct {
	Problem *compile.Problem
	// Limits are what pool limits and reservations leave before new nodes are planned.
	Limits *catalog.Limits
	Placed *existing.Placement
	// Segments are the pods for new nodes.
	Segments []*Segment

	quotas  Quotas
	placing *compile.Class // the class at work
	// final says that a class waits for the pods of others no more: those that have no place by now get none.
	final bool
	// exhausted is, by affinity group, how many of its first classes have no pods left.
	exhausted []int
	choices   map[choiceKey][]*Choice
	bearings  map[bearingKey]catalog.Bearing
	opening   map[openKey]bool
}

// Presets are what an earlier assignment has shown.
type Presets struct {
	// Quotas bound how many pods are sent where.
	Quotas Quotas
	// Without says which pods are left out; nil for none.
	Without func(*model.Pod) bool
}

// Assign places the pending pods of p.
func Assign(p *compile.Problem, o Presets) *Assignment {
	a := start(p, p.Catalog.Limits, existing.New(p, o.Without))
	a.quotas = o.Quotas.clone()
	markReachable(a)
	a.Placed.KeepNominated()
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

// start returns an assignment that goes on from the placement.
func start(p *compile.Problem, l *catalog.Limits, at *existing.Placement) *Assignment {
	a := &Assignment{
		Problem: p, Limits: l, Placed: at, exhausted: make([]int, len(p.Groups)),
		choices: map[choiceKey][]*Choice{}, bearings: map[bearingKey]catalog.Bearing{}, opening: map[openKey]bool{},
	}
	at.MayBeFirst = a.MayBeFirst
	return a
}

// Resume returns an assignment for single pods that were left out: it goes on from a with the limits that planned nodes
// leave, without quotas. It does not change a.
func (a *Assignment) Resume(l *catalog.Limits) *Assignment {
	b := start(a.Problem, l, a.Placed.Clone())
	b.Segments, b.final = slices.Clone(a.Segments), true
	b.Placed.Late = true
	return b
}

// Turn makes c the class at work.
func (a *Assignment) Turn(c *compile.Class) { a.placing = c }

// placeClass places what it can of the class, and reports whether that was anything.
func (a *Assignment) placeClass(c *compile.Class) bool {
	all := a.Placed.Left(c)
	if all == 0 {
		return false
	}
	a.placing = c
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

// chooseDomains gives pods of the class that go to new nodes their domains, as far as the stage's requirements hold, and
// collects them in segments.
func (a *Assignment) chooseDomains(c *compile.Class, s *compile.Stage) {
	if s.Company != nil {
		a.spreadOver(c, s, a.CompanyChoices(c, s))
	}
	if s.HasNear() {
		bundle(a, c, s)
		return
	}
	choices := a.Choices(c, s)
	a.spreadOver(c, s, choices)
	if a.Placed.Left(c) > 0 && a.final && !slices.ContainsFunc(choices, func(ch *Choice) bool { n, _ := a.allowed(c, s, ch); return n > 0 }) {
		a.spreadOver(c, s, a.LooseChoices(c, s))
	}
}

// spreadOver gives pods of the class the best of the choices, again and again, while one allows some.
func (a *Assignment) spreadOver(c *compile.Class, s *compile.Stage, choices []*Choice) {
	for a.Placed.Left(c) > 0 {
		best, n := a.best(c, s, choices)
		if best == nil {
			return
		}
		a.Enter(c, s, best, n)
		a.addSegment(c, s, best, n)
	}
}

// best returns the choice for the next pods, and for how many: the least crowded of those that the rules allow, of equals
// the cheapest.
func (a *Assignment) best(c *compile.Class, s *compile.Stage, choices []*Choice) (best *Choice, n int) {
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

// oneByOne reports whether each pod of the class may change which choice is best for the next.
func (a *Assignment) oneByOne(c *compile.Class, s *compile.Stage) bool {
	if slices.ContainsFunc(s.OverDomains, func(r compile.Rule) bool { return r.Kind != topology.Near }) {
		return true
	}
	return slices.ContainsFunc(c.Members, func(m int) bool {
		g := a.Problem.Groups[m]
		return g.Kind == topology.Spread && g.Key != compile.HostKey
	})
}

// Allows returns how many pods of the class the choice may take now, and how crowded its domains are with pods from which
// these must be spread.
func (a *Assignment) Allows(c *compile.Class, s *compile.Stage, ch *Choice) (n, crowd int) {
	n, crowd = a.allowed(c, s, ch)
	return min(n, a.quotas.left(c, s, ch)), crowd
}

// allowed is Allows without quotas.
func (a *Assignment) allowed(c *compile.Class, s *compile.Stage, ch *Choice) (n, crowd int) {
	counts := a.Placed.Counts
	n = compile.NoLimit
	for i := range s.OverDomains {
		r := &s.OverDomains[i]
		key := a.Problem.Groups[r.Group].Key
		d := ch.Domain(key)
		if ch.Company && r.Kind == topology.Near {
			if d == compile.Outside {
				return 0, 0
			}
			continue // the node brings the company
		}
		n = min(n, counts.Allows(r, d, a.MayBeFirst))
		if r.Kind == topology.Spread && a.Problem.Keys[key].Open {
			return 0, 0 // another new node may turn out to be in an empty domain
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

// Enter counts n pods of the class in the domains of the choice.
func (a *Assignment) Enter(c *compile.Class, s *compile.Stage, ch *Choice, n int) {
	a.quotas.spend(c, s, ch, n)
	counts := a.Placed.Counts
	for _, m := range c.Members {
		g := a.Problem.Groups[m]
		if g.Key == compile.HostKey {
			counts.AddTotal(m, n)
		} else if !g.Lacks(ch.Domain) {
			if bearing := a.bearing(g, ch.Fit); bearing != catalog.CountsNot {
				counts.Add(m, ch.Domain(g.Key), n, bearing == catalog.Counts)
			}
		}
	}
	for i := range s.OverDomains {
		r := &s.OverDomains[i]
		counts.Reserve(r, ch.Domain(a.Problem.Groups[r.Group].Key))
	}
}

// MayBeFirst reports whether kube-scheduler's first-pod rule may be used for the class at work: no pod meets its affinity,
// and none of another class that would is about to be placed.
func (a *Assignment) MayBeFirst(r *compile.Rule) bool {
	if !a.Placed.Counts.IsFirst(r) {
		return false
	}
	if a.final {
		return true
	}
	classes, done := a.Problem.Groups[r.Group].Classes, a.exhausted[r.Group]
	for done < len(classes) && a.Placed.Left(classes[done]) == 0 {
		done++
	}
	a.exhausted[r.Group] = done
	return !slices.ContainsFunc(classes[done:], func(c *compile.Class) bool { return c != a.placing && a.Placed.Left(c) > 0 })
}

// A bearingKey is what bearing depends on.
type bearingKey struct{ fit, terms, tolerations int }

// bearing returns how pods count for the group on the nodes that they may get by the fit. A pool that launches none of them
// does not matter; as limits only shrink, that stays so.
func (a *Assignment) bearing(g *compile.Group, f *catalog.Fit) catalog.Bearing {
	if g.Filter.Terms == nil && g.Filter.Tolerations == nil {
		return catalog.Counts
	}
	k := bearingKey{fit: f.ID}
	if g.Filter.Terms != nil {
		k.terms = 1 + g.Filter.Terms.ID
	}
	if g.Filter.Tolerations != nil {
		k.tolerations = 1 + g.Filter.Tolerations.ID
	}
	if known, ok := a.bearings[k]; ok {
		return known
	}
	answer, first := catalog.MayCount, true
	for i, p := range a.Problem.Catalog.Pools {
		if f.On[i].Set == nil {
			continue
		}
		if _, ok := a.Problem.Catalog.Launches(a.Limits, p, f.On[i], f.Demand); !ok && !a.Placed.Late { // late pods may share a planned node
			continue
		}
		if here := p.BearingOf(g.Filter, f.On[i]); first {
			answer, first = here, false
		} else if answer != here {
			answer = catalog.MayCount
		}
	}
	a.bearings[k] = answer
	return answer
}
