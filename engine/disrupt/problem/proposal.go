package problem

import (
	"fmt"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A Proposal is a set of nodes to remove and the plan for their pods.
type Proposal struct {
	Set  []*Candidate
	Plan *model.Plan
	// Price is by how much the bill falls when all nodes of the set end, in dollars per hour. Without commitments it is the sum
	// of their prices.
	Price float64
	// Saves, in dollars per hour, and Payback are set when the proposal is priced.
	Saves   float64
	Payback Payback
	// Verdict is a refusal if the proposal is found to be infeasible or not to pay.
	Verdict model.Verdict
}

// WhatIf plans the pods of the set in cluster without the set's nodes. cluster is the cluster of st or derived from it.
// The set's nodes count against limits, because they exist until their replacements are initialized. The verdict is a
// refusal if a pod has no other place.
func (st *State) WhatIf(cluster *model.Snapshot, set []*Candidate) Proposal {
	return st.propose(set, cluster, st.Problem.without(cluster, nodesIn(cluster, set)))
}

// WhatIfTerminated plans the pods of the candidate after its instance is terminated: its capacity reservation has one
// more instance left, and the node no longer counts against limits. The verdict is a refusal if a pod still has no
// place.
func (st *State) WhatIfTerminated(c *Candidate, reservation string) Proposal {
	set := []*Candidate{c}
	cluster := st.Cluster.Apply(model.Delta{Types: withReservations(st.Cluster, map[string]int{reservation: 1})})
	return st.propose(set, cluster, cluster.Without(nodesIn(cluster, set)...))
}

// maxPanics bounds how many panics Stats keeps.
const maxPanics = 8

// propose plans the pending pods of the cluster after the set's nodes are removed, which are nodes of the cluster before.
func (st *State) propose(set []*Candidate, before, after *model.Snapshot) Proposal {
	st.Stats.WhatIfs++
	plan, failed := pack.Try(after, st.Problem.Options.Pack)
	if failed != nil && len(st.Stats.Panics) < maxPanics {
		st.Stats.Panics = append(st.Stats.Panics, *failed)
	}
	p := Proposal{Set: set, Plan: plan, Price: priceOfSet(before, set)}
	if len(plan.Refusals) > 0 {
		r := plan.Refusals[0]
		p.Verdict = model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf(
			"pod %s fits on no other node: %s", r.Pods[0].Key, r.Brief())}
	}
	return p
}

// nodesIn returns the nodes of the set as they are in the cluster.
func nodesIn(cluster *model.Snapshot, set []*Candidate) (nodes []*model.Node) {
	for _, c := range set {
		if n, ok := cluster.NodeByName(c.Node.Name); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Command returns the proposal as a command.
func (p Proposal) Command(reason apiv1.DisruptionReason, method string) model.Command {
	return model.Command{
		Reason: reason, Method: method, Saves: p.Price - PriceOf(p.Plan.Nodes),
		Replacements: p.Plan.Nodes, Placements: p.Plan.Placements,
	}
}

// PriceOf returns the price of the planned nodes in dollars per hour.
func PriceOf(nodes []model.PlannedNode) float64 {
	total := 0.0
	for i := range nodes {
		total += nodes[i].Price()
	}
	return total
}
