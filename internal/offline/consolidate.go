package offline

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A Disruption is the decision of disruption for the Snapshot of a Run.
type Disruption struct {
	disrupt.Decision
	// Before is the price of the existing nodes of NodePools. After is their price after all commands and planned launches.
	// Both are in dollars per hour. Nodes whose price is not known count as zero. Unpriced is the number of such nodes.
	Before, After float64
	Unpriced      int
	// Floor is the result of Run.Floor, in dollars per hour; zero if it was not computed.
	Floor float64
	// Moved is how many pods the commands move.
	Moved int
	// Mode is the enforcement mode of NodePools without an annotation, empty for Auto.
	Mode string
	// Took is the time that the decision took.
	Took time.Duration
}

// Disrupt returns the decision of disruption for the Snapshot of r, with the lower bound on the price. The options of r
// replace o.Pack. With o.Simulate, nodes count as initialized and consolidatable. now is used for durations only.
func (r *Run) Disrupt(o disrupt.Options, now func() time.Time) *Disruption {
	out := r.DisruptOnly(o, now)
	out.Floor = r.Floor()
	return out
}

// Floor returns the result of the function Floor for the snapshot of the run without the pods that its plan refuses. With them
// the bound could be above the price of all nodes, in which they have no part. It takes as long as a plan for all pods.
func (r *Run) Floor() float64 {
	var d model.Delta
	for _, refusal := range r.Plan.Refusals {
		for _, p := range refusal.Pods {
			d.Gone = append(d.Gone, model.Ref{Kind: model.KindPod, Key: p.Key})
		}
	}
	return Floor(r.Snapshot.Apply(d), r.Options)
}

// DisruptOnly is Disrupt without the lower bound, which takes most of the time in a large cluster.
func (r *Run) DisruptOnly(o disrupt.Options, now func() time.Time) *Disruption {
	o.Pack = r.Options
	start := now()
	out := &Disruption{Mode: o.Mode, Decision: disrupt.Decide(r.Snapshot, o, disrupt.Cursor{})}
	out.Took = now().Sub(start)
	gone, removed := map[string]bool{}, []*model.Node{}
	for i := range out.Commands {
		c := &out.Commands[i]
		out.Moved += c.Moves()
		for _, n := range c.Nodes {
			gone[n.Name] = true
		}
		removed = append(removed, c.Nodes...)
		for k := range c.Replacements {
			out.After += c.Replacements[k].Price()
		}
	}
	after := r.Snapshot
	if after.Coverage() != nil { // the removed nodes leave units of commitments to others
		after = after.Without(removed...)
	}
	for _, n := range r.Snapshot.Nodes() {
		if n.Pool == "" {
			continue
		}
		price, ok := r.Snapshot.Price(n)
		if !ok {
			out.Unpriced++
		}
		out.Before += price
		if !gone[n.Name] {
			out.After += after.PriceOf(n)
		}
	}
	out.After += r.Plan.Price
	return out
}

// Floor returns a lower bound on the price of any nodes for all pods of s. It is the Floor of a plan for the same pods, all
// pending, without nodes and without limits. Pods that need no new place, such as DaemonSet pods, and pods on nodes without
// a NodePool are excluded.
func Floor(s *model.Snapshot, o pack.Options) float64 {
	var d model.Delta
	for _, p := range s.Pools() {
		object := *p.Object
		object.Spec.Limits = nil
		d.Pools = append(d.Pools, &object)
	}
	for _, n := range s.Nodes() {
		if n.Object != nil {
			d.Gone = append(d.Gone, model.Ref{Kind: model.KindNode, Key: n.Object.Name})
		}
		if n.Claim != nil {
			d.Gone = append(d.Gone, model.Ref{Kind: model.KindClaim, Key: n.Claim.Name})
		}
		for _, p := range n.Pods {
			if n.Pool == "" || !p.Reschedulable() {
				d.Gone = append(d.Gone, model.Ref{Kind: model.KindPod, Key: p.Key})
				continue
			}
			object := *p.Object
			object.Spec.NodeName = ""
			object.DeletionTimestamp = nil
			object.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}
			d.Pods = append(d.Pods, &object)
		}
	}
	return pack.Solve(s.Apply(d), o).Floor
}

// StaticLaunches returns the nodes that static NodePools lack. They are known only if disrupt.Options.Static is set.
func (d *Disruption) StaticLaunches() []NodeResult {
	out := make([]NodeResult, len(d.Launches))
	for i := range d.Launches {
		out[i] = nodeResult(&d.Launches[i])
	}
	return out
}

// Result adds the disruption to out, the result of the run.
func (d *Disruption) Result(out *Result) {
	for i := range d.Commands {
		out.Commands = append(out.Commands, commandResult(&d.Commands[i]))
	}
	for i := range d.Proposed {
		out.Proposed = append(out.Proposed, commandResult(&d.Proposed[i]))
	}
	for _, b := range d.Blocked {
		out.Blocked = append(out.Blocked, BlockedResult{Node: b.Node.Name, Reason: b.Verdict.String()})
	}
	out.PodsMoved, out.CostPerHour, out.FloorPerHour = d.Moved, d.After, d.Floor
	out.SolveSeconds += d.Took.Seconds()
}

func commandResult(c *model.Command) CommandResult {
	out := CommandResult{
		Action: c.Decision(), Nodes: c.Names(), With: make([]NodeResult, len(c.Replacements)), SavesPerHour: c.Saves,
		Reason: string(c.Reason),
	}
	for i := range c.Replacements {
		out.With[i] = nodeResult(&c.Replacements[i])
	}
	return out
}
