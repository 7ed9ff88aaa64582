package disrupt

import (
	"fmt"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A proposal is a hypothesis: what it takes to do without a set of nodes.
type proposal struct {
	set  []*candidate
	plan *model.Plan
	// price is what the set costs, saves what is saved if plan is carried out.
	price, saves float64
	pays         payback
	verdict      model.Verdict
}

// whatIf packs the pods of the set as if its nodes were gone from w.
func (d *decider) whatIf(w *model.Snapshot, set []*candidate) *proposal {
	d.out.Stats.WhatIfs++
	nodes := make([]*model.Node, len(set))
	for i, c := range set {
		nodes[i] = c.node
	}
	p := &proposal{set: set, price: sum(set, price)}
	p.plan = pack.Solve(w.Without(in(w, nodes)...), d.o.Pack)
	p.saves = p.price - p.plan.Price
	return p
}

// placed is a yes if every pod has another place.
func (p *proposal) placed() model.Verdict {
	if len(p.plan.Refusals) == 0 {
		return model.Verdict{}
	}
	r := p.plan.Refusals[0]
	return model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf(
		"pod %s has no other place: %s", r.Pods[0].Key, r.String())}
}

// command returns the proposal as a command.
func (p *proposal) command(reason apiv1.DisruptionReason, method string) model.Command {
	return model.Command{
		Reason: reason, Method: method, Saves: p.price - sumPrice(p.plan.Nodes),
		Replacements: p.plan.Nodes, Placements: p.plan.Placements,
	}
}

func sumPrice(nodes []model.PlannedNode) float64 {
	total := 0.0
	for i := range nodes {
		total += nodes[i].Price()
	}
	return total
}

func sortNodes(nodes []*model.Node) {
	slices.SortFunc(nodes, func(a, b *model.Node) int { return strings.Compare(a.Name, b.Name) })
}
