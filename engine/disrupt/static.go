package disrupt

import (
	"cmp"
	"math"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
)

// members are the nodes of a static pool by what becomes of them.
type members struct {
	// active stay, pending are being replaced, deleting are on their way out.
	active, pending, deleting int
	nodes                     []*candidate // the active ones
}

func (d *decider) members(p *model.Pool) members {
	var m members
	for _, c := range d.ours {
		switch {
		case c.node.Pool != p.Name:
		case c.node.Deleting:
			m.deleting++
		case underWay(c.node) || c.done:
			m.pending++
		default:
			m.active++
			m.nodes = append(m.nodes, c)
		}
	}
	return m
}

// static brings every static pool to its number of replicas: missing nodes are launched from the template, as far as the
// pool's limit of nodes allows, and surplus ones go without asking budgets, as Karpenter has it. Other modes than Auto
// leave the pool as it is.
func (d *decider) static() {
	for _, p := range d.s.Pools() {
		if !p.Static() || p.Object.DeletionTimestamp != nil || ModeOf(p, d.o.Mode) != apiv1.ModeAuto {
			continue
		}
		m, want := d.members(p), int(*p.Object.Spec.Replicas)
		switch {
		case m.active > want:
			d.shrink(m, m.active-want)
		case m.active+m.pending < want:
			d.grow(p, want-m.active-m.pending)
		}
	}
}

// headroom returns how many nodes more the pool's limit of nodes allows beside those there are, those that go included, and
// those that this decision launches.
func (d *decider) headroom(p *model.Pool) int {
	limit, ok := p.Limits[model.Nodes]
	if !ok {
		return math.MaxInt
	}
	m := d.members(p)
	room := int(limit) - m.active - m.pending - m.deleting
	for _, commands := range [][]model.Command{d.out.Commands, d.out.Proposed} {
		for _, c := range commands {
			for _, r := range c.Replacements {
				if r.Pool.Name == p.Name {
					room--
				}
			}
		}
	}
	return max(room, 0)
}

// anotherFromTemplate returns a node of the pool as its template has it, and a no if there is none or no room for it.
func (d *decider) anotherFromTemplate(p *model.Pool) (model.PlannedNode, model.Verdict) {
	if d.headroom(p) < 1 {
		return model.PlannedNode{}, model.Verdict{Rule: model.RuleLimit, Resource: model.Nodes, By: 1}
	}
	return d.fromTemplate(p)
}

func (d *decider) grow(p *model.Pool, missing int) {
	missing = min(missing, d.headroom(p))
	n, v := d.fromTemplate(p)
	if !v.OK() {
		return
	}
	for range missing {
		d.out.Launches = append(d.out.Launches, n)
	}
}

// shrink picks the nodes that a static pool can best do without: claims without an instance, then empty nodes, then those
// without pods that ask not to be disrupted, and of like ones those whose pods mind least for the time left to them.
func (d *decider) shrink(m members, surplus int) {
	rank := func(c *candidate) int {
		switch {
		case !c.node.Launched():
			return 0
		case len(c.pods) == 0 && !d.protected(c):
			return 1
		case !d.protected(c):
			return 2
		}
		return 3
	}
	slices.SortFunc(m.nodes, func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a.cost*d.lifetimeLeft(a), b.cost*d.lifetimeLeft(b)),
			strings.Compare(a.node.Name, b.node.Name),
		)
	})
	for _, c := range m.nodes[:surplus] {
		c.done = true
		d.out.Surplus = append(d.out.Surplus, c.node)
	}
}

// protected reports whether a pod of the node asks not to be disrupted.
func (d *decider) protected(c *candidate) bool {
	return slices.ContainsFunc(c.node.Pods, func(p *model.Pod) bool {
		active, _, _ := drain.DoNotDisrupt(p.Object, d.now)
		return active && !p.Terminating()
	})
}

// lifetimeLeft returns the share of its life that the node has left: 1 if it does not expire.
func (d *decider) lifetimeLeft(c *candidate) float64 {
	at, ok := expiresAt(c.node.Claim)
	if !ok || *c.node.Claim.Spec.ExpireAfter.Duration <= 0 {
		return 1
	}
	return min(max(at.Sub(d.now).Seconds()/c.node.Claim.Spec.ExpireAfter.Duration.Seconds(), 0), 1)
}

// fromTemplate returns a node of the pool as its template alone has it, for no pod.
func (d *decider) fromTemplate(p *model.Pool) (model.PlannedNode, model.Verdict) {
	n := model.PlannedNode{Pool: p, Requirements: p.Requirements, Requests: model.Resources{}}
	types := d.s.Types(p.Name)
	if d.drawn != nil { // what this decision takes out of reservations is no longer there
		types = d.drawn[p.Name]
	}
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
			continue
		}
		if _, ok := t.Cheapest(p.Requirements); ok {
			n.Options = append(n.Options, t)
		}
	}
	if len(n.Options) == 0 {
		return n, model.Verdict{Rule: model.RuleNoPlace, Subject: "no instance type that NodePool " + p.Name + " allows is on offer"}
	}
	sortOptions(n.Options, p.Requirements)
	if most := d.maxTypes(); len(n.Options) > most {
		n.Options = n.Options[:most]
	}
	n.Offering, _ = n.Options[0].Cheapest(p.Requirements)
	return n, model.Verdict{}
}
