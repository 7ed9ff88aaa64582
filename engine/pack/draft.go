package pack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A draft is a plan together with the results of the phases that made it.
type draft struct {
	problem  *compile.Problem
	options  Options
	assigned *assign.Assignment
	packed   *packing
	plan     *model.Plan
	// unplaced are the pods of segments that are on no node of the packing, or on one that cannot be launched, because its
	// instance types do not meet minValues.
	unplaced map[*model.Pod]bool
}

// draftPlan returns the draft for a packing. For each new node it finds the instance types as which the node may be
// launched (see chooseOptions).
func draftPlan(p *compile.Problem, o Options, a *assign.Assignment, k *packing) *draft {
	d := &draft{problem: p, options: o, assigned: a, packed: k, unplaced: map[*model.Pod]bool{}, plan: &model.Plan{}}
	d.plan.Placements = a.Placed.Placements()
	if kept := d.addNodes(); len(kept) > 0 {
		d.plan.Floor = k.floor(kept)
	}
	if d.plan.Floor > d.plan.Price && d.plan.Floor < d.plan.Price*(1+catalog.Same) {
		d.plan.Floor = d.plan.Price // floor and price differ only by rounding
	}
	slices.SortStableFunc(d.plan.Nodes, compareNodes)
	placed := d.placed()
	if len(p.Groups) > 0 {
		d.plan.Order = placed
	}
	d.plan.Refusals = d.refusals(placed)
	return d
}

// addNodes adds the nodes that can be launched to the plan, and returns them. It adds the pods of the other nodes to
// d.unplaced, and gives back what these nodes use of limits and reservations.
func (d *draft) addNodes() (kept []*node) {
	d.plan.Nodes = make([]model.PlannedNode, len(d.packed.nodes))
	wait := compile.Async(d.assignPods)
	left := d.packed.limits.Clone()
	overheads := make([]overhead, len(d.packed.nodes))
	for i, n := range d.packed.nodes {
		overheads[i] = d.chooseOptions(n, &d.plan.Nodes[i], left)
	}
	wait()
	for i, n := range d.packed.nodes {
		out := &d.plan.Nodes[i]
		overheads[i].add(out)
		if len(out.Options) > 0 {
			d.plan.Price += out.Price()
			kept = append(kept, n)
			continue
		}
		for _, pod := range out.Pods {
			d.unplaced[pod] = true
		}
		d.packed.limits.Take(n.instance, n.bin.Charge, -1)
	}
	d.plan.Nodes = slices.DeleteFunc(d.plan.Nodes, func(n model.PlannedNode) bool { return len(n.Options) == 0 })
	return kept
}

// An overhead has the requests of the DaemonSet pods on a planned node. The maps are read-only.
type overhead struct {
	least model.Resources // those of catalog.LeastOverhead of the options
	first model.Resources // those on the first option
}

// add adds the overhead to out.Requests, and sets out.Used. Before, out.Requests are those of the node's pods.
func (o overhead) add(out *model.PlannedNode) {
	same := maps.Equal(o.least, o.first)
	if !same {
		out.Used = out.Requests.Plus(o.first)
	}
	for name, v := range o.least {
		out.Requests[name] += v
	}
	if same {
		out.Used = out.Requests
	}
}

// chooseOptions sets all fields of out except Pods, Requests and Used, and returns the overhead of the options. out.Options are
// the instance types as which the node may be launched, cheapest first. They hold the node's pods, are within left (see
// withinLimits), and are cut by limitOptions. For a node under a commitment, coveredOptions selects them. If minValues prevents
// a launch, there are no options. left is what the limits of the pools allow beyond the charges of all nodes; chooseOptions
// lowers it.
func (d *draft) chooseOptions(n *node, out *model.PlannedNode, left *catalog.Limits) overhead {
	out.Pool, out.Requirements = n.pool.Pool, n.offers.Requirements
	allowed := make([]typeset.Set, len(n.bin.Parts)) // for each part, the types that hold one bundle of its segment
	for i, x := range n.bin.Parts {
		allowed[i] = d.assigned.Segments[x.Item].Fit.ByPool[n.pool.Index].Types
	}
	all := n.pool.Options(n.offers, n.amount, n.instance.Reservation, allowed...)
	options := withinLimits(all.Types, n, left.Left(n.pool))
	covered := n.instance.Reservation != nil && n.instance.Reservation.Commitment
	if covered {
		options, out.Requirements = n.coveredOptions(options)
	}
	var ok bool
	if options, out.MinValuesRelaxed, ok = d.limitOptions(n.offers, options); !ok {
		return overhead{}
	}
	if left.Left(n.pool) == nil && !covered {
		out.Options = all.Instances[:len(options):len(options)]
	} else {
		for _, t := range options {
			out.Options = append(out.Options, t.InstanceType)
		}
	}
	out.Offering, _ = options[0].CheapestWithin(out.Requirements)
	out.Requirements = withReservation(out.Requirements, out.Offering, n.pool)
	return overhead{catalog.LeastOverhead(options), options[0].Daemons.Requests}
}

// limitOptions returns the first MaxTypes of the options, or all of them if minValues of the offers needs more. relaxed says
// that the result does not meet minValues. ok is false if all options together do not. If RelaxMinValues is set, it always
// returns the first MaxTypes, and ok is true.
func (d *draft) limitOptions(offers *catalog.OfferSet, options []*catalog.Type) (kept []*catalog.Type, relaxed, ok bool) {
	if _, diverse := offers.Diverse(options); !diverse {
		if !d.options.RelaxMinValues {
			return nil, false, false
		}
		relaxed = true
	}
	if most := cmp.Or(d.options.MaxTypes, 600); len(options) > most {
		if _, diverse := offers.Diverse(options[:most]); diverse || d.options.RelaxMinValues {
			return options[:most], !diverse, true
		}
	}
	return options, relaxed, true
}

// withReservation returns the requirements of a node that is planned with the offering, narrowed to its capacity reservation.
// For an offering without one, it excludes reservations: the cloud would launch the node in one, whose instances are planned
// for other nodes.
func withReservation(reqs require.Set, o model.Offering, pool *catalog.Pool) require.Set {
	switch {
	case o.ReservationID != "":
		return reqs.And(o.Requirements.Without(corev1.LabelTopologyZone))
	case pool.Reserves:
		return reqs.With(require.New(apiv1.CapacityTypeLabelKey, require.NotIn, apiv1.CapacityTypeReserved))
	}
	return reqs
}

// withinLimits returns the options that exceed the node's charge by at most left in each limited resource of which they
// exceed it. It then subtracts from left the largest excess of these options, in each resource. A nil left means no limits.
func withinLimits(options []*catalog.Type, n *node, left []int64) []*catalog.Type {
	if left == nil {
		return options
	}
	most := slices.Clone(n.bin.Charge)
	kept := options[:0:0]
	for _, t := range options {
		excess := slices.Clone(t.Charge)
		vector.Subtract(excess, n.bin.Charge, 1)
		if vector.Fits(excess, left) {
			kept = append(kept, t)
			for i, v := range t.Charge {
				most[i] = max(most[i], v)
			}
		}
	}
	vector.Subtract(left, most, 1)
	vector.Subtract(left, n.bin.Charge, -1)
	return kept
}

// assignPods sets Pods and Requests of the planned nodes. Each node gets the next pods of its segments. Its requests are those
// of its pods, without DaemonSet pods. Pods that are on no node are added to d.unplaced.
func (d *draft) assignPods() {
	segments, dimensions := d.assigned.Segments, d.problem.Dimensions
	next := make([]int, len(segments))
	for i, n := range d.packed.nodes {
		out := &d.plan.Nodes[i]
		for _, x := range n.bin.Parts {
			from := next[x.Item]
			next[x.Item] += x.Copies * segments[x.Item].Size
			out.Pods = append(out.Pods, segments[x.Item].Pods[from:next[x.Item]]...)
		}
		slices.SortFunc(out.Pods, comparePods)
		out.Requests = make(model.Resources, len(n.instance.Daemons.Requests)+dimensions.Len())
		for r, v := range n.amount[:dimensions.Plain] {
			if v != 0 {
				out.Requests[dimensions.Names[r]] += v
			}
		}
	}
	for i, s := range segments {
		for _, pod := range s.Pods[next[i]:] {
			d.unplaced[pod] = true
		}
	}
}

// placed returns the placed pods in an order in which kube-scheduler can bind them one after another. It is the order in
// which they were placed, because each pod was checked against the pods placed before it. The pods of Placement.Free come
// last.
func (d *draft) placed() []*model.Pod {
	pods := slices.Concat(d.assigned.Placed.Order, d.assigned.Placed.Free)
	return slices.DeleteFunc(pods, func(pod *model.Pod) bool { return d.unplaced[pod] })
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
