package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"unique"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// mostConsidered is the maximum number of types in NodeDetail.Considered.
const mostConsidered = 20

// DetailOf returns the details of a node. launch is the episode that launched it, nil if it is not known.
func DetailOf(s *model.Snapshot, n *model.Node, prices Prices, o decisions.Outcome, launch *decisions.Episode) NodeDetail {
	price, fate := prices.Of(n), FatesOf(o)[n.Name]
	out := NodeDetail{
		Node: nodeOf(n, price, fate), Owners: []string{}, Conditions: conditionsOf(n), Chosen: chosenOf(s, n, launch), Stays: fate.Stays(n),
		Pods: make([]PodRow, len(n.Pods)), Cost: []CauseCost{}, Labels: maps.Clone(n.Labels), Taints: []string{},
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	for i := range n.Taints {
		out.Taints = append(out.Taints, n.Taints[i].ToString())
	}
	if n.Claim != nil {
		out.Claim = n.Claim.Name
	}
	var owners Owners
	blocker := fate.shown().pod
	for i, p := range n.Pods {
		kind := kindOf(p, blocker)
		row := PodRow{
			Name: p.Object.Name, Namespace: p.Object.Namespace, Owner: OwnerOf(p), Daemon: kind == DaemonPod, Requested: amountsOf(p.Requests),
		}
		switch {
		case p.Key == blocker:
			row.Blocks = fate.Verdict.String()
		case kind == BlockingPod:
			row.Blocks = "has annotation " + apiv1.DoNotDisruptAnnotationKey
		}
		out.Pods[i] = row
		out.Node.Pods = append(out.Node.Pods, Block{float64(share(p.Requests, n.Allocatable)) / 1000, float64(kind), float64(owners.of(unique.Make(row.Owner)))})
	}
	out.Owners = owners.List()
	if price.Own != nil {
		out.pay(s, n, *price.Own, o)
	}
	return out
}

// pay sets the prices in the detail: those of the pods, and those of the causes.
func (d *NodeDetail) pay(s *model.Snapshot, n *model.Node, price float64, o decisions.Outcome) {
	in := cost.Input{Snapshot: s, Causes: cost.CausesOf(o.Blocked, o.Commands), Headroom: o.Headroom}
	micros := cost.MicrosOf(price)
	for i, part := range in.Pods(n, micros) {
		dollars := part.Dollars()
		d.Pods[i].DollarsPerHour = &dollars
	}
	sums := map[string]cost.Micros{}
	for _, part := range in.Node(n, micros) {
		sums[cmp.Or(string(part.Key.Cause), string(part.Key.Kind))] += part.Rate
	}
	for cause, sum := range sums {
		d.Cost = append(d.Cost, CauseCost{Cause: cause, DollarsPerHour: sum.Dollars()})
	}
	slices.SortFunc(d.Cost, func(a, b CauseCost) int {
		return cmp.Or(cmp.Compare(b.DollarsPerHour, a.DollarsPerHour), cmp.Compare(a.Cause, b.Cause))
	})
}

// conditionsOf returns the conditions of the claim, then those of the node.
func conditionsOf(n *model.Node) []Condition {
	out := []Condition{}
	if n.Claim != nil {
		for _, c := range n.Claim.Status.Conditions {
			out = append(out, Condition{"NodeClaim", c.Type, string(c.Status), c.Reason, c.Message, c.LastTransitionTime.UTC()})
		}
	}
	if n.Object != nil {
		for _, c := range n.Object.Status.Conditions {
			out = append(out, Condition{"Node", string(c.Type), string(c.Status), c.Reason, c.Message, c.LastTransitionTime.UTC()})
		}
	}
	return out
}

// chosenOf returns the reasons for the type of the node.
func chosenOf(s *model.Snapshot, n *model.Node, launch *decisions.Episode) Chosen {
	out := Chosen{Considered: []Considered{}}
	if launch != nil {
		out.Episode, out.Decision = launch.ID, launch.Decision
	}
	if n.Claim == nil {
		return out
	}
	var own *float64
	if o := s.OfferingOf(n); o != nil && !o.Unpriced {
		own = &o.Price
	}
	reqs := model.Normalize(s, require.FromSpec(n.Claim.Spec.Requirements))
	for _, t := range s.Types(n.Pool) {
		if _, ok := reqs.Intersects(t.Requirements); !ok {
			continue
		}
		out.Options++
		out.Considered = append(out.Considered, considered(t, n, reqs, own))
	}
	slices.SortStableFunc(out.Considered, func(a, b Considered) int { return byPrice(a.DollarsPerHour, b.DollarsPerHour) })
	out.Considered = out.Considered[:min(len(out.Considered), mostConsidered)]
	if launch != nil {
		for _, l := range launch.Launches {
			if l.Claim == n.Claim.Name {
				out.Options = l.Options
			}
		}
	}
	return out
}

// considered compares a type with that of the node. own is the price of the node without commitments, nil if it is not known.
func considered(t *model.InstanceType, n *model.Node, reqs require.Set, own *float64) Considered {
	x := Considered{Type: t.Name}
	if t.Name == n.Labels[corev1.LabelInstanceTypeStable] {
		x.Zone, x.CapacityType = n.Labels[corev1.LabelTopologyZone], n.Labels[apiv1.CapacityTypeLabelKey]
		x.DollarsPerHour, x.Reason = own, "chosen"
		return x
	}
	o, ok := t.Cheapest(reqs)
	if !ok {
		x.Reason = "no available offering now"
		return x
	}
	x.Zone, x.CapacityType, x.DollarsPerHour = o.Zone, o.CapacityType, &o.Price
	if own == nil {
		return x
	}
	switch difference := round(o.Price - *own); {
	case difference > 0:
		x.Reason = fmt.Sprintf("costs $%.4f/h more now", difference)
	case difference < 0:
		x.Reason = fmt.Sprintf("costs $%.4f/h less now", -difference)
	default:
		x.Reason = "costs the same now"
	}
	return x
}

// byPrice compares two prices; an unknown price comes last.
func byPrice(a, b *float64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*a, *b)
}
