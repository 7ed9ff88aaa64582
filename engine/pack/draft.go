package pack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// A draft is a plan together with the results of the phases that made it.
type draft struct {
	problem  *compile.Problem
	options  Options
	assigned *assign.Assignment
	packed   *packing
	plan     *model.Plan
	// refused are the pods of nodes that cannot be launched, because their instance types do not meet minValues.
	refused map[*model.Pod]bool
}

// draftPlan returns the draft for a packing. For each new node it finds the instance types as which the node may be
// launched (see launch).
func draftPlan(p *compile.Problem, o Options, a *assign.Assignment, k *packing) *draft {
	d := &draft{problem: p, options: o, assigned: a, packed: k, refused: map[*model.Pod]bool{}, plan: &model.Plan{}}
	d.plan.Placements = a.Placed.Placements()
	kept := d.launchNodes()
	slices.SortStableFunc(d.plan.Nodes, compareNodes)
	d.plan.Refusals = d.refusals()
	d.plan.Floor = k.floor(kept)
	if d.plan.Floor > d.plan.Price && d.plan.Floor < d.plan.Price*(1+catalog.Same) {
		d.plan.Floor = d.plan.Price // floor and price differ only by rounding
	}
	d.plan.Order = d.order()
	return d
}

// launchNodes adds the nodes that can be launched to the plan, and returns them. It adds the pods of the other nodes to
// d.refused, and gives back what these nodes use of limits and reservations.
func (d *draft) launchNodes() (kept []*node) {
	nodes := d.packed.nodes
	if len(nodes) == 0 {
		return nil
	}
	var pods [][]*model.Pod
	var requests []model.Resources
	wait := compile.Aside(func() { pods, requests = d.assignPods() })
	left := d.packed.limits.Clone()
	planned, launched := make([]model.PlannedNode, len(nodes)), make([]bool, len(nodes))
	for i, n := range nodes {
		launched[i] = d.launch(n, &planned[i], left)
	}
	wait()
	for i, n := range nodes {
		if !launched[i] {
			for _, pod := range pods[i] {
				d.refused[pod] = true
			}
			d.packed.limits.Take(n.instance(), n.charge, -1)
			continue
		}
		out := &planned[len(kept)]
		*out = planned[i]
		out.Pods, out.Requests = pods[i], requests[i]
		d.plan.Price += out.Price()
		kept = append(kept, n)
	}
	if len(kept) > 0 {
		d.plan.Nodes = planned[:len(kept)]
	}
	return kept
}

// launch sets all fields of out except Pods and Requests. out.Options are the instance types as which the node may be
// launched. They hold the node's pods and are within left, see withinLimits. For a node under a commitment, coveredOptions
// selects them. At most MaxTypes of d.options are kept, unless minValues needs more and RelaxMinValues is not set. launch
// returns false if even all options do not meet minValues and RelaxMinValues is not set. left is what the limits of the
// pools allow beyond the charges of all nodes.
func (d *draft) launch(n *node, out *model.PlannedNode, left *catalog.Limits) bool {
	out.Pool, out.Requirements = n.pool.Pool, n.offers.Requirements
	all := n.pool.Options(n.offers, n.amount, n.instance().Reservation, n.allowed()...)
	options := withinLimits(all.Types, n, left.Left(n.pool))
	covered := n.instance().Reservation != nil && n.instance().Reservation.Commitment
	if covered {
		options, out.Requirements = n.coveredOptions(options)
	}
	if _, ok := n.offers.Diverse(options); !ok {
		if !d.options.RelaxMinValues {
			return false
		}
		out.MinValuesRelaxed = true
	}
	if len(options) > d.options.MaxTypes {
		cut := options[:d.options.MaxTypes]
		if _, diverse := n.offers.Diverse(cut); diverse || d.options.RelaxMinValues {
			options, out.MinValuesRelaxed = cut, !diverse
		}
	}
	if left.Left(n.pool) == nil && !covered {
		out.Options = all.Instances[:len(options):len(options)]
	} else {
		for _, t := range options {
			out.Options = append(out.Options, t.InstanceType)
		}
	}
	out.Offering, _ = options[0].CheapestWithin(out.Requirements)
	if out.Offering.ReservationID != "" {
		out.Requirements = out.Requirements.And(out.Offering.Requirements.Without(corev1.LabelTopologyZone))
	}
	return true
}

// withinLimits returns the options that exceed the node's charge by at most left in each limited resource of which they
// exceed it. It then subtracts from left the largest excess of these options, in each resource. A nil left means no limits.
func withinLimits(options []*catalog.Type, n *node, left []int64) []*catalog.Type {
	if left == nil {
		return options
	}
	most := slices.Clone(n.charge)
	kept := options[:0:0]
	for _, t := range options {
		excess := slices.Clone(t.Charge)
		vector.Subtract(excess, n.charge, 1)
		if vector.Fits(excess, left) {
			kept = append(kept, t)
			for i, v := range t.Charge {
				most[i] = max(most[i], v)
			}
		}
	}
	vector.Subtract(left, most, 1)
	vector.Subtract(left, n.charge, -1)
	return kept
}

// assignPods gives each node the next pods of its segments. For each node it returns the pods in key order, and the sum of
// their requests and of those of the DaemonSet pods on the type that package binpack chose.
func (d *draft) assignPods() (pods [][]*model.Pod, requests []model.Resources) {
	next := make([]int, len(d.assigned.Segments))
	pods, requests = make([][]*model.Pod, len(d.packed.nodes)), make([]model.Resources, len(d.packed.nodes))
	dimensions := d.problem.Dimensions
	for i, n := range d.packed.nodes {
		for _, x := range n.parts {
			s, count := x.segment, x.copies*x.segment.Size
			pods[i] = append(pods[i], s.Pods[next[s.Index]:next[s.Index]+count]...)
			next[s.Index] += count
		}
		slices.SortFunc(pods[i], comparePods)
		overhead := n.instance().Daemons.Requests
		requests[i] = make(model.Resources, len(overhead)+dimensions.Len())
		maps.Copy(requests[i], overhead)
		for r, v := range n.amount[:dimensions.Plain] {
			if v != 0 {
				requests[i][dimensions.Names[r]] += v
			}
		}
	}
	return pods, requests
}

// order returns the placed pods in an order in which kube-scheduler can bind them one after another. It is the order in
// which they were placed, because each pod was checked against the pods placed before it. Pods with Step.Free come last:
// required affinity or anti-affinity does not select them, and their own place does not depend on other pods. The result
// is nil if there are no topology groups.
func (d *draft) order() []*model.Pod {
	if len(d.problem.Groups) == 0 {
		return nil
	}
	refused := map[*model.Pod]bool{}
	for _, r := range d.plan.Refusals {
		for _, pod := range r.Pods {
			refused[pod] = true
		}
	}
	steps := d.assigned.Placed.Order
	order := make([]*model.Pod, 0, len(steps))
	for _, free := range []bool{false, true} {
		for _, s := range steps {
			if s.Free == free && !refused[s.Pod] {
				order = append(order, s.Pod)
			}
		}
	}
	return order
}

// compareNodes orders planned nodes by falling pool weight, then by names of pool, cheapest type and first pod.
func compareNodes(a, b model.PlannedNode) int {
	return cmp.Or(
		cmp.Compare(b.Pool.Weight, a.Pool.Weight),
		strings.Compare(a.Pool.Name, b.Pool.Name),
		strings.Compare(a.Options[0].Name, b.Options[0].Name),
		strings.Compare(a.Pods[0].Key, b.Pods[0].Key),
	)
}
