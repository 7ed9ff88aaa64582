package disrupt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A decision about few candidates that would leave some of them half filled is made once more, in a wide way.

// mostPods bounds the pods of a set: in a wide decision there are few candidates, and all of them are to go into one.
func (d *decider) mostPods() int {
	if d.wide {
		return allPods
	}
	return mostPods
}

// widen asks, in a wide decision, whether it pays more if nodes that the proposal sends pods to, and that stay far from their
// worth all the same, go along: full they may be worth their price, but not of the pods that there are. It returns the best one.
func (d *decider) widen(p *proposal) *proposal {
	idle := d.halfFilled(p)
	if len(idle) > 0 && len(d.movable) <= sketched {
		d.idle = true
	}
	if !d.wide {
		return p
	}
	var omit []*candidate
	for next := p; len(idle) > 0 && !d.spent(); idle = d.halfFilled(next) {
		set, _ := d.window(slices.Concat(next.set, idle))
		if len(set) <= len(next.set) {
			break
		}
		omit = append(omit, idle...)
		next = d.better(d.refine(set), d.without(omit, func() *proposal { return d.refine(set) }))
		if d.better(p, next) == p {
			break
		}
		p = next
	}
	return d.oneMore(p, omit)
}

// oneMore asks, of a few candidates that stay, one after the other, whether it pays more if it goes along and is not launched again:
// else it would go in a command of its own, when those that took its pods have rested.
func (d *decider) oneMore(p *proposal, omit []*candidate) *proposal {
	for _, c := range d.staying(p) {
		if d.spent() {
			break
		}
		set, _ := d.window(append(slices.Clone(p.set), c))
		if len(set) <= len(p.set) {
			continue
		}
		q := d.without(append(slices.Clone(omit), c), func() *proposal { return d.refine(set) })
		p = d.better(p, q)
	}
	return p
}

// staying returns the candidates that the proposal leaves, those first that would then be furthest from their worth.
func (d *decider) staying(p *proposal) []*candidate {
	waste := map[*candidate]float64{}
	var out []*candidate
	for c := range d.movable {
		if !slices.Contains(p.set, c) {
			out = append(out, c)
			waste[c] = c.price - c.worth
		}
	}
	for i := range p.plan.Placements {
		pl := &p.plan.Placements[i]
		if c := d.byName[pl.Node.Name]; c != nil {
			for _, pod := range pl.Pods {
				waste[c] -= d.tariff.of(pod.Requests)
			}
		}
	}
	slices.SortFunc(out, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(waste[b], waste[a]), strings.Compare(a.node.Name, b.node.Name))
	})
	return out[:min(len(out), few)]
}

// better returns the one of two proposals that pays more, the first if they are alike.
func (d *decider) better(p, q *proposal) *proposal {
	if q.verdict.OK() && (!p.verdict.OK() || q.pays.net() > p.pays.net()+tiny) {
		return q
	}
	return p
}

// halfFilled returns the candidates that the proposal sends pods to and that could go along, since they stay far from their worth.
func (d *decider) halfFilled(p *proposal) (idle []*candidate) {
	for i := range p.plan.Placements {
		pl := &p.plan.Placements[i]
		c := d.byName[pl.Node.Name]
		if c == nil || !d.movable[c] || slices.Contains(p.set, c) {
			continue
		}
		worth := c.worth
		for _, pod := range pl.Pods {
			worth += d.tariff.of(pod.Requests)
		}
		if worth < wasteful*c.price {
			idle = append(idle, c)
		}
	}
	return idle
}

// without asks with none of the types of those nodes on offer: a node that would be launched again is kept, and half filled again.
func (d *decider) without(nodes []*candidate, ask func() *proposal) *proposal {
	was := d.view
	for _, c := range nodes {
		d.omit = append(d.omit, typeOf(c))
	}
	d.view = d.viewOf(d.shut)
	p := ask()
	d.view, d.omit = was, nil
	return p
}

// offered returns the types of all pools without those to be left out, nil if there are none to be left out.
func (d *decider) offered() map[string][]*model.InstanceType {
	if len(d.omit) == 0 {
		return nil
	}
	types := map[string][]*model.InstanceType{}
	for _, p := range d.base.Pools() {
		types[p.Name] = slices.DeleteFunc(slices.Clone(d.base.Types(p.Name)), func(t *model.InstanceType) bool { return slices.Contains(d.omit, t.Name) })
	}
	return types
}
