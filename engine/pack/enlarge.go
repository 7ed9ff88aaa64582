package pack

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// maxEnlarged bounds how often a plan is made again for the sake of pods that daemons' pods are in the way of.
const maxEnlarged = 8

// An attempt is one way to solve a problem: what it takes for granted, and what came of it.
type attempt struct {
	lost   map[string][]model.PoolVerdict // pods that go without a place, and why
	known  quotas
	seen   foresight
	pinned bool

	*problem
	plan *model.Plan
	// right says that nobody counted on pods that are not there, or did not count pods that are.
	right bool
	wrong []*class  // that counted on other daemons than there are
	next  foresight // what daemons there are
}

// make solves the problem of these pods.
func (a *attempt) make(s *model.Snapshot, o Options, pods []*model.Pod) {
	p := newProblem(s, o, pods, a.lost)
	p.quotas = maps.Clone(a.known)
	if a.pinned {
		p.pin()
	}
	p.foresee(a.seen)
	p.keepPromises()
	p.place()
	p.open()
	a.problem, a.plan = p, p.plan()
	missed := p.missed()
	a.next, a.wrong = p.lookBack()
	a.plan.Order = p.ordered(a.plan)
	a.right = !missed && len(a.wrong) == 0
}

// pin has the domain of each new node settled by which pods must be spread together with those of daemons: else a node might
// bring its daemons to any of several. Settled is also in which of the offerings it comes that have such daemons.
func (p *problem) pin() {
	add := func(key int) {
		if !slices.Contains(p.pins, key) {
			p.pins = append(p.pins, key)
		}
	}
	for _, g := range p.groups {
		if !p.crowds(g) {
			continue
		}
		add(g.key)
		for _, h := range p.hands {
			for _, key := range p.offers {
				if p.countedIn(h, g) && h.selectsOn(p.keys[key].label) {
					add(key)
				}
			}
		}
	}
	for _, c := range p.classes {
		for i := range c.stages {
			c.stages[i].keys = nil // they were asked for without
		}
	}
}

// crowds reports whether daemons' pods count for those who must be spread over domains that nodes share.
func (p *problem) crowds(g *group) bool {
	return g.kind == topology.Spread && g.hard && g.key != hostKey &&
		slices.ContainsFunc(p.hands, func(h *hand) bool { return p.countedIn(h, g) })
}

// countedIn reports whether the group counts the daemon's pods.
func (p *problem) countedIn(h *hand, g *group) bool {
	return slices.ContainsFunc(h.members, func(m int) bool { return p.groups[m] == g })
}

// enlarge returns an attempt at least as good as best, which is right: pods that were refused because daemons' pods would be in
// their way come back a few at a time, for the fewer of them come, the fewer nodes do, and so daemons.
func enlarge(best *attempt, s *model.Snapshot, o Options, pods []*model.Pod) *attempt {
	if len(best.hands) == 0 || len(best.plan.Refusals) == 0 {
		return best
	}
	out, without := best.crowdedOut()
	step := len(out)
	for n := 0; n < maxEnlarged && len(out) > 0; n++ {
		step = min(step, len(out))
		fewer := maps.Clone(without)
		for _, pod := range out[:step] {
			delete(fewer, pod.Key)
		}
		try := &attempt{lost: fewer, known: best.known, seen: best.next, pinned: true}
		try.make(s, o, pods)
		if !try.right {
			try.seen = try.next
			try.make(s, o, pods)
		}
		switch {
		case try.right && unplaced(try.plan) < unplaced(best.plan):
			best = try
			out, without = best.crowdedOut()
		case step > 1:
			step = (step + 1) / 2
		default:
			out = out[1:]
		}
	}
	return best
}

// crowdedOut returns the pods that have no place, of classes that must be spread together with daemons' pods, in the order of
// their classes; and all that have none of such classes or had none before, with the reasons.
func (a *attempt) crowdedOut() (out []*model.Pod, without map[string][]model.PoolVerdict) {
	why := map[*model.Pod][]model.PoolVerdict{}
	for _, r := range a.plan.Refusals {
		for _, pod := range r.Pods {
			why[pod] = r.Reasons
		}
	}
	without = map[string][]model.PoolVerdict{}
	maps.Copy(without, a.lost)
	for _, c := range a.classes {
		if !c.refusal.OK() || !slices.ContainsFunc(c.last().wide, func(r rule) bool { return a.crowds(a.groups[r.group]) }) {
			continue
		}
		for _, pod := range c.pods {
			if reasons, refused := why[pod]; refused {
				out = append(out, pod)
				without[pod.Key] = reasons
			}
		}
	}
	return out, without
}
