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
	return st.whatIf(cluster, set, st.Problem.without)
}

// whatIf is WhatIf with the function that removes the nodes from the cluster.
func (st *State) whatIf(
	cluster *model.Snapshot, set []*Candidate, without func(*model.Snapshot, []*model.Node) *model.Snapshot,
) Proposal {
	st.Stats.WhatIfs++
	p := Proposal{Set: set}
	nodes := make([]*model.Node, 0, len(set))
	p.Price = priceOfSet(cluster, set)
	for _, c := range set {
		if n, ok := cluster.NodeByName(c.Node.Name); ok {
			nodes = append(nodes, n)
		}
	}
	p.Plan = st.Stats.Solve(without(cluster, nodes), st.Problem.Options.Pack)
	if len(p.Plan.Refusals) > 0 {
		r := p.Plan.Refusals[0]
		p.Verdict = model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf(
			"pod %s fits on no other node: %s", r.Pods[0].Key, r.Brief())}
	}
	return p
}

// WhatIfTerminated plans the pods of the candidate after its instance is terminated: its capacity reservation has one
// more instance left, and the node no longer counts against limits. The verdict is a refusal if a pod still has no
// place.
func (st *State) WhatIfTerminated(c *Candidate, reservation string) Proposal {
	freed := model.Delta{Types: withReservations(st.Cluster, map[string]int{reservation: 1})}
	gone := func(s *model.Snapshot, nodes []*model.Node) *model.Snapshot { return s.Without(nodes...) }
	return st.whatIf(st.Cluster.Apply(freed), []*Candidate{c}, gone)
}

// maxPanics bounds how many panics Stats keeps.
const maxPanics = 8

// Solve returns the packer's plan for the pending pods of cluster. If the packer panics, the plan refuses all pods, and
// s.Panics gets the panic unless it has maxPanics already.
func (s *Stats) Solve(cluster *model.Snapshot, o pack.Options) *model.Plan {
	plan, failed := pack.Try(cluster, o)
	if failed != nil && len(s.Panics) < maxPanics {
		s.Panics = append(s.Panics, *failed)
	}
	return plan
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
