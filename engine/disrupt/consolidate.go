package disrupt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Bounds of one set of nodes that goes together.
const (
	mostNodes = 50   // of a set
	mostPods  = 800  // of a set
	allPods   = 5000 // of a set in a wide decision
	// few is how many candidates are tried one by one and all together, best first.
	few = 6
	// sketched is how many candidates are worth a sketch of the cluster.
	sketched = 50
	// wasteful is the share of its price that a node must reach in worth to be filled with pods of others without a thought of
	// replacing it, too.
	wasteful = 0.93
)

// consolidate lets nodes go whose pods cost less elsewhere.
//
// Nodes that could not be worth their price even if they were full go first, in sets that are packed anew together: N nodes
// become M. Then sets of the others, mostly into the room that is there. In the end each node that is left is looked at by
// itself, so that everyone ends with a verdict of its own.
func (d *decider) consolidate() {
	var open []*candidate
	for _, c := range d.open(apiv1.DisruptionReasonUnderutilized) {
		if len(c.pods) == 0 {
			continue
		}
		if v := d.mayConsolidate(c); !v.OK() {
			d.note(c, v)
			continue
		}
		open = append(open, c)
	}
	d.eligible(apiv1.DisruptionReasonUnderutilized, len(open))
	open = d.gather(open)
	d.movable = make(map[*candidate]bool, len(open))
	for _, c := range open {
		d.movable[c] = true
	}
	if len(open) == 0 {
		return
	}
	defer func() { d.view = nil }()
	d.byDensity(open)
	d.look()
	if len(open) <= few {
		d.fewest(open)
	} else {
		d.many(open)
	}
	d.singles(open)
}

// look makes the view: nodes that have had no rest take no pods, nor do those that are not up, nor those given.
func (d *decider) look(shut ...*candidate) {
	d.shut = shut
	d.view = d.viewOf(shut)
}

func (d *decider) viewOf(shut []*candidate) *model.Snapshot {
	names := map[string]bool{}
	for _, c := range shut {
		names[c.node.Name] = true
	}
	delta := d.closed(d.base, func(n *model.Node) bool {
		return names[n.Name] || !d.initialized(n) || d.resting(n)
	})
	delta.Types = d.offered()
	return d.base.Apply(delta)
}

// many takes the candidates in sets. Those that are to be replaced take none of the others' pods meanwhile.
func (d *decider) many(list []*candidate) {
	if d.whole {
		d.look()
		d.windows(list)
		return
	}
	var replace, fill []*candidate
	for _, c := range list {
		switch {
		case !d.worthwhile(c):
		case d.fillable(c) < efficient:
			replace = append(replace, c)
		default:
			fill = append(fill, c)
		}
	}
	d.look(replace...)
	d.windows(replace)
	d.look()
	d.windows(fill)
}

// mayConsolidate is a yes if nothing but price and budgets keeps the node.
func (d *decider) mayConsolidate(c *candidate) model.Verdict {
	if v := d.barred(c); !v.OK() {
		return v
	}
	if v := d.rested(c); !v.OK() {
		return v
	}
	switch {
	case c.pool.Object.Spec.Disruption.ConsolidationPolicy == apiv1.ConsolidationPolicyWhenEmpty:
		return model.Verdict{Rule: model.RulePolicy, Subject: "consolidationPolicy of its NodePool is WhenEmpty, and it runs pod " + c.pods[0].Key}
	case !c.priced:
		return model.Verdict{Rule: model.RulePolicy, Subject: "the price of its instance type is not known"}
	}
	if v := d.holdsPods(c, false); !v.OK() {
		return v
	}
	return d.awaited(c)
}

// resting reports whether pods came or went on the node a short while ago. Such nodes take no pods for the sake of price
// until consolidateAfter has passed.
func (d *decider) resting(n *model.Node) bool {
	c := d.byName[n.Name]
	if c == nil || c.pool == nil || c.pool.Static() {
		return false
	}
	after := c.pool.Object.Spec.Disruption.ConsolidateAfter.Duration
	return after != nil && *after > 0 && !d.consolidatable(c)
}

// byDensity sorts by the waste that a move ends, for what it disturbs: most first.
func (d *decider) byDensity(list []*candidate) {
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare((b.price-b.worth)/(1+b.cost), (a.price-a.worth)/(1+a.cost)),
			strings.Compare(a.node.Name, b.node.Name),
		)
	})
}

// worthwhile reports whether doing without the node would pay if its pods cost elsewhere no more than they are worth.
func (d *decider) worthwhile(c *candidate) bool {
	return d.weigh([]*candidate{c}, c.price-c.worth, c.worth).net() > 0
}

// windows packs the candidates anew in sets, as many at a time as budgets allow.
func (d *decider) windows(list []*candidate) {
	for len(list) > 0 && !d.spent() {
		set, rest := d.window(list)
		if len(set) == 0 {
			return
		}
		d.try(set)
		list = rest
	}
}

// window picks the first candidates that may go together.
func (d *decider) window(list []*candidate) (set, rest []*candidate) {
	pods := 0
	var holds [][]hold
	for _, c := range list {
		full := len(set) == mostNodes || len(set) > 0 && pods+len(c.pods) > d.mostPods()
		switch {
		case full:
			rest = append(rest, c)
			continue
		case c.done || c.awaited || !d.budgets.room(append(set, c), apiv1.DisruptionReasonUnderutilized).OK(),
			!d.guards.allow(append(holds, c.holds)...).OK(), !d.within(d.chosen + len(set) + 1):
			continue // looked at by itself later
		}
		set, holds = append(set, c), append(holds, c.holds)
		pods += len(c.pods)
	}
	return set, rest
}

// try carries the set out if that pays, else each half of it.
func (d *decider) try(set []*candidate) {
	if d.spent() {
		return
	}
	if p := d.widen(d.refine(set)); p.verdict.OK() && d.carryOut(p).OK() {
		return
	}
	if len(set) > few {
		d.try(set[:len(set)/2])
		d.try(set[len(set)/2:])
	}
}

// refine asks what it takes to do without the set. A node that would be launched again as it was is kept instead, so that
// its pods need not move, and takes pods of the others, as it would have; that is repeated a few times.
func (d *decider) refine(set []*candidate) *proposal {
	view, stay := d.view, []*candidate(nil)
	for range 3 {
		p := d.whatIf(view, set)
		kept := keep(p)
		if len(kept) == 0 || len(kept) == len(set) {
			d.judge(p)
			return d.lighter(p, stay)
		}
		stay = append(stay, kept...)
		set = except(set, kept)
		if len(d.shut) > 0 {
			view = d.viewOf(except(d.shut, stay))
		}
	}
	p := d.whatIf(view, set)
	d.judge(p)
	return d.lighter(p, stay)
}

// except returns the candidates that are not among some.
func except(list, some []*candidate) []*candidate {
	return slices.DeleteFunc(slices.Clone(list), func(c *candidate) bool { return slices.Contains(some, c) })
}

// keep returns the nodes of the set that the plan would launch again: those whose pods mind moving most.
func keep(p *proposal) []*candidate {
	var kept []*candidate
	for i := range p.plan.Nodes {
		n := &p.plan.Nodes[i]
		var best *candidate
		for _, c := range p.set {
			if typeOf(c) != n.Options[0].Name || c.node.Labels[apiv1.CapacityTypeLabelKey] != n.Offering.CapacityType ||
				slices.Contains(kept, c) {
				continue
			}
			if best == nil || c.cost >= best.cost { // of like ones the one with the least waste
				best = c
			}
		}
		if best != nil {
			kept = append(kept, best)
		}
	}
	return kept
}

// fewest takes, of all nodes alone and all together, what pays most, and begins again with the rest.
func (d *decider) fewest(list []*candidate) {
	for len(list) > 1 && !d.spent() {
		var best *proposal
		if set, _ := d.window(list); len(set) > 1 {
			if p := d.refine(set); p.verdict.OK() {
				best = p
			}
		}
		for _, c := range list {
			if c.done || c.awaited {
				continue
			}
			p := d.whatIf(d.view, []*candidate{c})
			if d.judge(p); p.verdict.OK() && (best == nil || p.pays.net() > best.pays.net()+tiny) {
				best = p
			}
		}
		if best == nil {
			return
		}
		if v := d.carryOut(best); !v.OK() {
			return
		}
		list = slices.DeleteFunc(slices.Clone(list), func(c *candidate) bool { return c.done || c.awaited })
	}
}

// singles looks at each candidate that is left by itself.
func (d *decider) singles(list []*candidate) {
	d.resume(list)
	var drawn *sketch
	for i, c := range list {
		if c.done {
			continue
		}
		if v := d.mayConsolidate(c); !v.OK() {
			d.note(c, v)
			continue
		}
		if v := d.affords([]*candidate{c}, apiv1.DisruptionReasonUnderutilized); !v.OK() {
			d.note(c, v)
			continue
		}
		if d.spent() {
			if !d.out.Stats.Spent {
				d.out.Stats.Spent = true
				d.out.Cursor.After = list[max(i-1, 0)].node.Name
			}
			d.note(c, model.Verdict{Rule: model.RuleEffort})
			continue
		}
		if len(list) > sketched && !d.thorough && plain(c.pods) {
			if drawn == nil {
				drawn = d.sketch()
			}
			if d.hopeless(drawn, c) {
				d.note(c, model.Verdict{Rule: model.RulePrice, Subject: fmt.Sprintf(
					"costs $%.4f/h, and nothing that is cheaper by enough holds its pods", c.price)})
				continue
			}
		}
		p := d.whatIf(d.view, []*candidate{c})
		if d.judge(p); !p.verdict.OK() {
			d.note(c, p.verdict)
			continue
		}
		if v := d.carryOut(p); !v.OK() {
			d.note(c, v)
			continue
		}
		drawn = nil
	}
	if !d.out.Stats.Spent {
		d.out.Cursor.After = ""
	}
}

// resume sorts the list by name, beginning after the node that the last decision ended with, if it was ended by its bound.
func (d *decider) resume(list []*candidate) {
	after := d.out.Cursor.After
	if after == "" {
		return
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare(max(0, strings.Compare(after, a.node.Name)+1), max(0, strings.Compare(after, b.node.Name)+1)),
			strings.Compare(a.node.Name, b.node.Name),
		)
	})
}

// spent reports whether no more hypotheses may be tried.
func (d *decider) spent() bool { return d.out.Stats.WhatIfs >= d.o.MaxWhatIfs }

// carryOut makes a command of the proposal if budgets, and the policy Balanced where a pool has it, allow.
func (d *decider) carryOut(p *proposal) model.Verdict {
	if v := d.needless(p); !v.OK() {
		return v
	}
	if v := d.balanced(p); !v.OK() {
		return v
	}
	if v := d.take(p.set, apiv1.DisruptionReasonUnderutilized); !v.OK() {
		return v
	}
	method := "single"
	if len(p.set) > 1 {
		method = "multi"
	}
	d.commit(p.command(apiv1.DisruptionReasonUnderutilized, method), p.set)
	d.net += p.pays.net()
	return model.Verdict{}
}

// needless is a yes unless as much is saved without moving a pod: by letting empty nodes go, which the pods would be moved to.
func (d *decider) needless(p *proposal) model.Verdict {
	saves := 0.0
	for _, pl := range p.plan.Placements {
		if c := d.byName[pl.Node.Name]; c != nil && !c.done && len(c.pods) == 0 && d.emptyMayGo(c).OK() {
			saves += c.price
		}
	}
	if saves == 0 || p.saves > saves+tiny {
		return model.Verdict{}
	}
	return model.Verdict{Rule: model.RulePrice, Subject: fmt.Sprintf(
		"would save $%.4f/h, as much as letting the empty nodes go that its pods would move to", p.saves)}
}

// guardsAllow is a yes if disruption budgets of pods let the whole set go. Drift does not ask them for claims with a
// terminationGracePeriod.
func (d *decider) guardsAllow(set []*candidate, reason apiv1.DisruptionReason) model.Verdict {
	var holds [][]hold
	for _, c := range set {
		if reason != apiv1.DisruptionReasonDrifted || !graceful(c) {
			holds = append(holds, c.holds)
		}
	}
	return d.guards.allow(holds...)
}
