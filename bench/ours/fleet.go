package ours

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// A Round is the result of one plan over a fleet with existing nodes.
type Round struct {
	Pods, Existing, Nodes, Unplaced int
	// Reading is the measurement from the changed objects to the finished plan.
	Reading
	// Apply is the part of Seconds for updating the Snapshot.
	Apply float64
	// Violations are the results of the plan's check, which is not measured.
	Violations []string
}

// Rounds plans batches of pending pods over the fleet, one after another. When a round begins, the nodes and pods of
// the previous round run. The first round reads the whole fleet, later rounds only the changes.
func Rounds(fleet *workload.Cluster, batches [][]*corev1.Pod, o pack.Options) ([]Round, error) {
	delta, err := fleet.Delta()
	if err != nil {
		return nil, err
	}
	types := map[string]catalogue.Type{}
	for _, t := range fleet.Catalogue {
		types[t.Name] = t
	}
	delta.Daemons = fleet.Daemons
	s := &model.Snapshot{}
	var out []Round
	for i, batch := range batches {
		delta.Pods = append(delta.Pods, batch...)
		meter := Start()
		s = s.Apply(delta)
		applied := meter.Stop()
		plan := pack.Solve(s, o)
		r := Round{Pods: len(batch), Nodes: len(plan.Nodes), Apply: applied.Seconds, Reading: meter.Stop()}
		for _, p := range plan.Placements {
			r.Existing += len(p.Pods)
		}
		for _, refusal := range plan.Refusals {
			r.Unplaced += len(refusal.Pods)
		}
		for _, v := range verify.Plan(s, plan, o.Labels) {
			r.Violations = append(r.Violations, v.String())
		}
		out = append(out, r)
		delta = carriedOut(plan, types, i)
	}
	return out, nil
}

// carriedOut returns the changes after the plan was executed: its nodes exist and its pods run.
func carriedOut(plan *model.Plan, types map[string]catalogue.Type, round int) model.Delta {
	var d model.Delta
	bind := func(pods []*model.Pod, node string) {
		for _, p := range pods {
			bound := p.Object.DeepCopy()
			bound.Spec.NodeName, bound.Status = node, corev1.PodStatus{Phase: corev1.PodRunning}
			d.Pods = append(d.Pods, bound)
		}
	}
	for _, p := range plan.Placements {
		bind(p.Pods, p.Node.Name)
	}
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		name := fmt.Sprintf("launched-%d-%d", round, i)
		t := types[n.Options[0].Name]
		d.Nodes = append(d.Nodes, workload.NewNode(name, n.Pool.Name, n.Offering.Zone, n.Offering.CapacityType, t))
		bind(n.Pods, name)
	}
	return d
}
