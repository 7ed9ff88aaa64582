package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A Plan assigns pending and displaced pods to existing nodes or to nodes to be launched. It states why the others get no node.
// The same Snapshot and options always give the same plan.
type Plan struct {
	// Placements are the pods that go to nodes that exist or are being launched, ordered by node, then pod.
	Placements []Placement
	// Nodes are the nodes to launch, ordered by falling weight of the pool, then by the names of pool, cheapest type and
	// first pod.
	Nodes []PlannedNode
	// Refusals are the pods that get no node, ordered by first pod.
	Refusals []Refusal
	// Order is a sequence in which kube-scheduler can bind the placed pods, so that the affinity, anti-affinity and spread
	// constraints of each pod hold among the pods before it. It may be nil if no pod has such constraints.
	Order []*Pod
	// Price is the sum of the Nodes' prices in dollars per hour.
	Price float64
	// Floor is a lower bound of the price of new nodes for the pods, in dollars per hour: the cost of the linear relaxation,
	// which allows fractions of nodes. Pods on nodes from capacity reservations and commitments count as planned, so the
	// bound does not consider other uses of these. It is zero if no node is launched.
	Floor float64
}

// A Placement assigns pods to a node that exists or is being launched.
type Placement struct {
	Node *Node
	Pods []*Pod
}

// A PlannedNode is a node to launch, with its pods and the instance types that may be launched for them.
type PlannedNode struct {
	Pool *Pool
	// Requirements are those of the pool, narrowed by those of the pods. Options, not Requirements, names the instance
	// types.
	Requirements require.Set
	// Options are the types that may be launched, at least one. They are sorted by the price of their cheapest available
	// offering within Requirements. If a commitment covers the node, that is the price under the commitment.
	Options []*InstanceType
	// Offering is the cheapest launchable offering of Options[0] within Requirements.
	Offering Offering
	// Pods are the pods for which the node is launched, in key order.
	Pods []*Pod
	// Requests are those of the pods, and those of DaemonSet pods that the node has as any of Options: of each resource the
	// minimum over Options.
	Requests Resources
	// Used is like Requests, but for a node of type Options[0] of the plan. Consolidation, which may remove this option, does not
	// change Used. The map may be that of Requests. It is nil for nodes of static pools.
	Used Resources
	// MinValuesRelaxed is true if Options have fewer distinct values than the pool's minValues. The minValues policy
	// BestEffort allows that.
	MinValuesRelaxed bool
}

// Price returns the price of the node's cheapest option, in dollars per hour.
func (n *PlannedNode) Price() float64 { return n.Offering.Price }

// ClaimRequirements returns the requirements of the NodeClaim of the node: those of the node, with the names of its instance
// types and the capacity types of their launchable offerings. The names are in alphabetical order. The provider sorts the
// types by their current prices at the launch.
func (n *PlannedNode) ClaimRequirements() []apiv1.NodeSelectorRequirementWithMinValues {
	names := make([]string, len(n.Options))
	var capacityTypes []string
	for i, t := range n.Options {
		names[i] = t.Name
		for _, o := range t.Offerings {
			if _, ok := n.Requirements.Intersects(o.Requirements); ok && o.Launchable() &&
				!slices.Contains(capacityTypes, o.CapacityType) {
				capacityTypes = append(capacityTypes, o.CapacityType)
			}
		}
	}
	return n.Requirements.With(
		require.New(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, names...),
		require.New(apiv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityTypes...),
	).Spec()
}

// A Refusal is a group of equal pods that get no node.
type Refusal struct {
	Pods []*Pod
	// Reasons are the verdicts of the pools, in the order in which pools were tried. A reason without a pool is about
	// the pods themselves.
	Reasons []PoolVerdict
}

// A PoolVerdict is the reason why a pool cannot launch a node for a pod.
type PoolVerdict struct {
	Pool    string
	Verdict Verdict
}

// String returns one reason as text.
func (r PoolVerdict) String() string {
	if r.Pool == "" {
		return r.Verdict.String()
	}
	return fmt.Sprintf("NodePool %q: %s", r.Pool, r.Verdict)
}

// Nearest returns the reasons sorted by rule, the highest rule first. Higher rules are mostly checked later, so a pool with such
// a reason met more conditions.
func (r Refusal) Nearest() []PoolVerdict {
	reasons := slices.Clone(r.Reasons)
	slices.SortStableFunc(reasons, func(a, b PoolVerdict) int { return cmp.Compare(b.Verdict.Rule, a.Verdict.Rule) })
	return reasons
}

// Brief returns the first reason of Nearest as text, and the number of the other NodePools.
func (r Refusal) Brief() string {
	text := r.Nearest()[0].String()
	if more := len(r.Reasons) - 1; more > 0 {
		text += fmt.Sprintf("; and %s", units.Counted(more, "more NodePool"))
	}
	return text
}

// String returns all reasons in one line, in the order of Nearest, for tests and logs.
func (r Refusal) String() string {
	reasons := r.Nearest()
	parts := make([]string, len(reasons))
	for i, reason := range reasons {
		parts[i] = reason.String()
	}
	return strings.Join(parts, "; ")
}

// Mix returns the names of the nodes' cheapest options with the number of nodes, such as "2 x c7a.xlarge", most frequent
// first, then by name.
func (p *Plan) Mix() []string {
	count := map[string]int{}
	for i := range p.Nodes {
		count[p.Nodes[i].Options[0].Name]++
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d x %s", count[name], name)
	}
	return names
}

// String prints the plan with one decision per line, for tests and logs.
func (p *Plan) String() string {
	var b strings.Builder
	for _, pl := range p.Placements {
		fmt.Fprintf(&b, "place on %s: %s\n", pl.Node.Name, podKeys(pl.Pods))
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		by := ""
		if n.Offering.Commitment != "" {
			by = " by commitment " + n.Offering.Commitment
		}
		fmt.Fprintf(&b, "launch %s %s %s %s ($%.4f/h%s, %d options) for %s\n", n.Pool.Name, n.Options[0].Name,
			n.Offering.Zone, n.Offering.CapacityType, n.Price(), by, len(n.Options), podKeys(n.Pods))
	}
	for _, r := range p.Refusals {
		fmt.Fprintf(&b, "refuse %s: %s\n", podKeys(r.Pods), r)
	}
	if len(p.Nodes) > 0 {
		fmt.Fprintf(&b, "price $%.4f/h\n", p.Price)
	}
	return b.String()
}

func podKeys(pods []*Pod) string {
	keys := make([]string, len(pods))
	for i, p := range pods {
		keys[i] = p.Key
	}
	return strings.Join(keys, ", ")
}
