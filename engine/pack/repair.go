package pack

import (
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// maxRepairs bounds how many nodes are looked at for pods that were refused.
const maxRepairs = 2_000

// A repairer looks for room for pods that were refused, one by one, on what was decided for the others: it is known by then
// what limits and reservations leave, and which domains have nodes or may still get some.
type repairer struct {
	*problem
	budget int
	asks   int    // how many nodes may still be asked to make way
	loads  []load // of the nodes, in their order
	seals  []*sealed
	fresh  map[freshKey]bool // whether some class could have a new node
	// reliances are the daemons that somebody relies on because no other node has them in the domain.
	reliances []reliance
}

// A load is what the pods of an opened node need together, and who they are.
type load struct {
	need   []int64
	guests guests
}

// repair returns the plan with places for some of the pods that it refuses, or the plan itself. Pods that got no node must not
// have been counted anywhere.
func (p *problem) repair(plan *model.Plan) *model.Plan {
	if len(p.refused) > 0 || len(plan.Refusals) == 0 || !p.unserved() {
		return plan
	}
	p.quotas, p.bold, p.late = nil, true, true
	p.chosen, p.opening = map[choiceKey][]*choice{}, map[openKey]bool{}
	p.reclaim()
	r := &repairer{problem: p, budget: maxRepairs, asks: maxAsks, fresh: map[freshKey]bool{}}
	for _, o := range p.nodes {
		r.loads = append(r.loads, r.loadOf(o))
	}
	r.hindsight()
	r.recount()
	r.seal()
	placed := false
	for moved := true; moved && r.budget > 0; placed = placed || moved {
		moved = r.each(r.serve)
		moved = moved || r.each(r.makeWay)
	}
	if placed {
		repaired := p.plan()
		_, wrong := p.lookBack()
		repaired.Order = p.ordered(repaired)
		if len(p.refused) == 0 && len(wrong) == 0 && unplaced(repaired) < unplaced(plan) {
			return repaired
		}
	}
	return plan
}

// each has a way to find places tried for all classes that have pods left, and reports whether it found any.
func (r *repairer) each(try func(c *class) bool) (moved bool) {
	for _, c := range r.classes {
		for nodes := len(r.nodes); c.refusal.OK() && c.left() > 0 && try(c); nodes = len(r.nodes) {
			moved = true
			if len(r.nodes) > nodes {
				r.seal() // limits may leave none now
			} else {
				r.level()
			}
		}
	}
	return moved
}

// unserved reports whether pods have no place that might have one.
func (p *problem) unserved() bool {
	return slices.ContainsFunc(p.classes, func(c *class) bool { return c.refusal.OK() && c.left() > 0 }) ||
		slices.ContainsFunc(p.lots, func(l *lot) bool { return l.class.refusal.OK() && l.left() > 0 })
}

// reclaim gives the pods of lots that got no node back to their classes.
func (p *problem) reclaim() {
	back := map[*model.Pod]bool{}
	for _, l := range p.lots {
		pods := l.pods[l.next:]
		if len(pods) == 0 || l.unit > 1 {
			continue
		}
		l.class.pods = slices.Insert(slices.Clone(l.class.pods), l.class.next, pods...)
		l.pods = l.pods[:l.next:l.next]
		for _, pod := range pods {
			back[pod] = true
		}
	}
	p.order = slices.DeleteFunc(p.order, func(s step) bool { return back[s.pod] })
}

// recount finds anew which domains count for spread: those of nodes that are there or planned, and those that new nodes may
// still come to be in.
func (r *repairer) recount() {
	for _, g := range r.groups {
		if g.key == hostKey || g.kind != topology.Spread {
			continue
		}
		clear(g.counts)
		for _, t := range r.everywhere {
			if !t.node.Deleting {
				r.mark(g, t)
			}
		}
		for i, o := range r.nodes {
			r.markOpened(g, o, r.loads[i].need)
		}
		r.extend(g)
	}
}

// markOpened has the domains count that an opened node may be in with pods of that need, if the node counts for the group.
func (p *problem) markOpened(g *group, o *opened, need []int64) {
	if !g.bears(o.shelf.pool.Taints) {
		return
	}
	k := p.keys[g.key]
	asked, bound := o.flavour.reqs.Get(k.label)
	news := false // most nodes are where others are
	for d, name := range k.names {
		news = news || !g.counts[d] && (!bound || asked.Has(name))
	}
	if !news || p.lacks(o, g) {
		return
	}
	o.flavour.allowed.each(func(j int) {
		sh := o.shelf.pool.shapes[j]
		if !sh.holds(need, o.cargo) || sh.reserved != o.shelf.pool.shapes[o.shape].reserved {
			return // it is none of the node's options
		}
		for v := range valuesOf(sh, k.label) {
			if d, known := k.number[v]; known && !g.counts[d] && (!bound || asked.Has(v)) {
				in := o.flavour.reqs.And(sh.reqs).And(require.NewSet(require.New(k.label, require.In, v)))
				g.counts[d] = g.strict == nil || p.mayBecome(g.strict, in)
			}
		}
	})
}

// mayBecome reports whether a new node with these labels may meet one of the alternatives.
func (p *problem) mayBecome(a *alternatives, reqs require.Set) bool {
	return slices.ContainsFunc(a.terms, func(term require.Set) bool {
		_, ok := reqs.Compatible(term.Normalize(p.opts.Labels.Aliases), p.opts.wellKnown)
		return ok
	})
}

// loadOf sums up who is on an opened node.
func (r *repairer) loadOf(o *opened) load {
	l := load{need: make([]int64, len(r.cols)), guests: slices.Clone(o.shelf.guestsIn(o.flavour, o.shape))}
	for _, part := range o.share {
		subtract(l.need, part.lot.need.amount, -part.n)
		l.guests = l.guests.add(part.lot, part.n)
	}
	for i := range l.guests {
		if r.groups[l.guests[i].group].kind == topology.Spread {
			l.guests[i].limit = math.MaxInt32 // whoever comes now comes last, and they are spread already
		}
	}
	return l
}

// serve finds a place for the next pods of c: on a node that is there, on one that is planned as long as that gets no dearer,
// on a new one, on any that is planned. It returns false if there is none.
func (r *repairer) serve(c *class) bool {
	before := c.left()
	r.placing = c
	for i := range c.stages {
		s := &c.stages[i]
		if r.onTargets(c, s); c.left() < before || r.onSole(c, s) {
			return true
		}
		choices := slices.Concat(r.choices(c, s), r.looseChoices(c, s), r.elusive(c, s))
		if s.escort != nil {
			choices = slices.Concat(r.escorted(c, s), choices, r.solelyEscorted(c, s))
		}
		choices = slices.DeleteFunc(choices, func(ch *choice) bool {
			may, _ := r.may(c, s, ch)
			return may == 0
		})
		choices = append(choices, r.among(c, s, nil)...)
		if r.join(c, s, choices, false) || r.found(c, s, choices) || r.join(c, s, choices, true) || r.joinOpen(c, s) {
			return true
		}
	}
	return false
}

// lotFor returns a lot for the next pod of c.
func (r *repairer) lotFor(c *class, s *stage, ch *choice) *lot {
	l := r.newLot(c, s, ch)
	l.next = 1
	if rules, changed := r.bound(l.rules); changed {
		l.rules, l.common = rules, false
	}
	return l
}

// settle gives the next pod of c to the lot, which comes to a node with those guests.
func (r *repairer) settle(l *lot, to guests) {
	if !l.choice.escorted && !to.company(l) {
		r.goAheadOn(l, l.class, l.stage)
	}
	r.enter(l.class, l.stage, l.choice, 1)
	l.pods = l.class.take(1)
	r.lots = append(r.lots, l)
	r.order = append(r.order, step{pod: l.pods[0], free: l.class.free})
}

// join puts the next pod of c onto a planned node; onto one that gets dearer by it only if dearer says so.
func (r *repairer) join(c *class, s *stage, choices []*choice, dearer bool) bool {
	for _, ch := range choices {
		l := r.lotFor(c, s, ch)
		for i, o := range r.nodes {
			if r.budget--; r.budget < 0 {
				return false
			}
			with := r.with(o, &r.loads[i], l)
			if with == nil {
				continue
			}
			if !dearer && with.price > o.price*(1+same) {
				o.shelf.pool.debit(with, -1) // what was paid out of the limits goes back
				o.shelf.pool.debit(o, 1)
				continue
			}
			r.settle(l, r.loads[i].guests)
			r.rely(l, with)
			r.nodes[i], r.loads[i] = with, r.loadOf(with)
			return true
		}
	}
	return false
}

// with returns the opened node with a pod more, its limits paid; nil if there can be none.
func (r *repairer) with(o *opened, is *load, l *lot) *opened {
	on := &l.fit.on[o.shelf.index]
	if on.flavour == nil || is.guests.admit(l, 1) == 0 || !l.choice.escorted && !is.guests.company(l) && !r.mayLead(l, o) {
		return nil
	}
	fl := o.shelf.join(o.flavour, on.flavour)
	if fl == nil || !fl.some {
		return nil
	}
	need := slices.Clone(is.need)
	subtract(need, l.need.amount, -1)
	out := *o
	out.flavour, out.share, out.cargo = fl, append(slices.Clone(o.share), portion{lot: l, n: 1}), o.cargo.with(l.need.cargo)
	pool, was := o.shelf.pool, o.shelf.pool.shapes[o.shape]
	if !r.escorts(l, &out, o) {
		return nil
	}
	pool.debit(o, -1)
	if _, enough := r.enough(o.shelf, fl, need, out.cargo, was.reserved); !enough {
		pool.debit(o, 1)
		return nil
	}
	out.shape = out.cheapest(-1, was.reserved, need, func(j int) bool {
		count, _ := pool.affords(pool.shapes[j])
		return count > 0
	})
	if out.shape < 0 {
		pool.debit(o, 1)
		return nil
	}
	out.toll = r.toll(&out, need)
	pool.debit(&out, 1)
	out.price = fl.price[out.shape] + o.fee
	return &out
}

// found opens a new node for the next pod of c, in the pool of most weight, there with the fewest daemons' pods from which others
// must be spread, and of those at the lowest price.
func (r *repairer) found(c *class, s *stage, choices []*choice) bool {
	var best *opened
	var of *lot
	crowd := 0
	for _, ch := range choices {
		l := r.lotFor(c, s, ch)
		if !l.choice.escorted && !(guests)(nil).company(l) && slices.ContainsFunc(s.host, func(x rule) bool {
			return x.kind == topology.Near && !r.mayBeFirst(&x, 0)
		}) {
			continue
		}
		for _, sh := range r.shelves {
			if best != nil && sh.pool.Weight < best.shelf.pool.Weight {
				break
			}
			o := r.cheapest(sh, l)
			if o == nil || r.breaks(o) || r.deserts(o) || r.tooMany(o, l) || r.intrudes(o) || !r.escorts(l, o, nil) {
				continue
			}
			n := r.crowdOn(o)
			if (best == nil || sh.pool.Weight > best.shelf.pool.Weight || n < crowd || n == crowd && o.price < best.price*(1-same)) &&
				r.harmless(o, l) {
				best, of, crowd = o, l, n
			}
		}
	}
	if best == nil {
		return false
	}
	r.settle(of, nil)
	r.rely(of, best)
	best.toll = r.toll(best, best.need())
	best.shelf.pool.debit(best, 1)
	r.nodes = append(r.nodes, best)
	r.loads = append(r.loads, r.loadOf(best))
	r.greet(best)
	return true
}

// crowdOn returns how many pods of daemons come with an opened node from which others must be spread over domains that nodes
// share.
func (r *repairer) crowdOn(o *opened) int {
	n := 0
	if len(r.hands) > 0 {
		for _, m := range r.crewUnder(o) {
			for _, i := range m.hand.members {
				if g := r.groups[i]; g.kind == topology.Spread && g.hard && g.key != hostKey {
					n++
				}
			}
		}
	}
	return n
}

// hindsight counts the pods of daemons from which others must be spread, or with whom they want to be, where they are, instead of
// where they were foreseen.
func (r *repairer) hindsight() {
	if len(r.hands) == 0 {
		return
	}
	now := r.onOpened()
	for i, g := range r.groups {
		if g.kind != topology.Near && (g.kind != topology.Spread || g.key == hostKey) {
			continue
		}
		was := foreseen{}
		if i < len(r.taken) {
			was, r.taken[i] = r.taken[i], now[i]
		}
		g.total += now[i].total - was.total
		if g.kind == topology.Near {
			continue
		}
		for d := range now[i].present {
			present, sure, _ := was.at(d)
			g.present[d] += now[i].present[d] - present
			g.sure[d] += now[i].sure[d] - sure
		}
	}
	for _, o := range r.nodes {
		r.expectNear(o)
	}
}

// tooMany reports whether the daemons' pods that come with an opened node leave no place there for the pod of the lot, which must be
// spread from them.
func (r *repairer) tooMany(o *opened, l *lot) bool {
	if len(r.hands) == 0 {
		return false
	}
	return slices.ContainsFunc(l.stage.wide, func(x rule) bool {
		g := r.groups[x.group]
		places := l.choice.places(g.key)
		if x.kind != topology.Spread || len(places) == 0 {
			return false
		}
		n := int32(0)
		for _, m := range r.crewUnder(o) {
			if slices.Contains(m.hand.members, x.group) {
				n++
			}
		}
		for _, d := range places {
			g.present[d] += n
			defer func() { g.present[d] -= n }()
		}
		return r.allowsAll(&x, places) == 0
	})
}

// greet counts the pods of daemons that come with an opened node.
func (r *repairer) greet(o *opened) {
	if len(r.hands) == 0 {
		return
	}
	r.expectNear(o)
	for _, m := range r.crewUnder(o) {
		for _, i := range m.hand.members {
			g := r.groups[i]
			f := foreseen{present: make([]int32, len(g.present)), sure: make([]int32, len(g.present))}
			r.expect(&f, g, o, m)
			g.take(f)
		}
		for _, i := range m.hand.bans {
			g := r.groups[i]
			for _, d := range r.roaming(m.hand, g.key, r.domainsUnder(o, g.key)) {
				if !r.outOf(m.hand, g.key, d) {
					g.limit[d] = 0
				}
			}
		}
	}
}

// cheapest returns the cheapest node that the shelf can still launch for the lot; nil if there is none.
func (r *repairer) cheapest(s *shelf, l *lot) *opened {
	on := &l.fit.on[s.index]
	if on.flavour == nil {
		return nil
	}
	var best *opened
	on.holds.each(func(j int) {
		sh := s.pool.shapes[j]
		if count, _ := s.pool.affords(sh); count <= 0 || best != nil && on.flavour.price[j]+r.opts.NodeFee >= best.price {
			return
		}
		if _, enough := r.enough(s, on.flavour, l.need.amount, l.need.cargo, sh.reserved); enough {
			best = &opened{shelf: s, shape: j, flavour: on.flavour, share: []portion{{lot: l, n: 1}}, cargo: l.need.cargo,
				price: on.flavour.price[j] + r.opts.NodeFee, fee: r.opts.NodeFee}
		}
	})
	return best
}

// company reports whether somebody is there for each of the lot's rules that wants it.
func (g guests) company(l *lot) bool {
	return !slices.ContainsFunc(l.rules, func(r rule) bool {
		present, _ := g.of(r.group)
		return r.kind == topology.Near && present == 0
	})
}
