package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/require"
)

// A Plan says where pending pods go: onto nodes there are, onto nodes to be launched, or nowhere, and why.
//
// It is a value: showing it, approving it and carrying it out are other people's business. The same Snapshot gives the
// same Plan, byte for byte.
type Plan struct {
	// Placements are the pods that go onto capacity there is or that is on its way, ordered by node, then pod.
	Placements []Placement
	// Nodes are the nodes to launch, cheapest pool order first; ordered by pool, type and first pod.
	Nodes []PlannedNode
	// Refusals are the pods that go nowhere, ordered by first pod.
	Refusals []Refusal
	// Order holds the pods that are placed in an order in which the scheduler may place them: each finds there what it asks
	// of those before it. Nil when no pod asks anything of others, and any order does.
	Order []*Pod
	// Price is the sum of the Nodes' prices in dollars per hour.
	Price float64
	// Floor is a price that no set of new nodes for the same pods can go below, in dollars per hour: the linear
	// relaxation with fractional nodes. Zero when there is nothing to launch.
	Floor float64
}

// A Placement puts pods on a node that exists or is in flight.
type Placement struct {
	Node *Node
	Pods []*Pod
}

// A PlannedNode is a node to launch: the pods it is for and every type that can hold them.
type PlannedNode struct {
	Pool *Pool
	// Requirements are the pool's, narrowed by the pods'. They do not name the instance types; Options does.
	Requirements require.Set
	// Options are the types that may be launched, cheapest first by their cheapest available offering within
	// Requirements. Never empty.
	Options []*InstanceType
	// Offering is the cheapest one of Options[0].
	Offering Offering
	// Pods are the pods that need the node, in key order.
	Pods []*Pod
	// Requests are what the pods and the daemons ask for together.
	Requests Resources
	// MinValuesRelaxed says that fewer distinct values than the pool's minValues were found and that the policy allows it.
	MinValuesRelaxed bool
}

// Price is what the node costs if its cheapest option is launched, in dollars per hour.
func (n *PlannedNode) Price() float64 { return n.Offering.Price }

// A Refusal is a group of like pods that go nowhere.
type Refusal struct {
	Pods []*Pod
	// Reasons holds the verdict of each pool, in the order in which pools were tried. A reason without a pool speaks of
	// the pods themselves.
	Reasons []PoolVerdict
}

// A PoolVerdict is why a pool does not take a pod.
type PoolVerdict struct {
	Pool    string
	Verdict Verdict
}

// String renders one reason for people.
func (r PoolVerdict) String() string {
	if r.Pool == "" {
		return r.Verdict.String()
	}
	return fmt.Sprintf("nodepool %q: %s", r.Pool, r.Verdict)
}

// String renders all reasons in one line, nearest miss first: a rule that is tried later means that more was right.
func (r Refusal) String() string {
	reasons := slices.Clone(r.Reasons)
	slices.SortStableFunc(reasons, func(a, b PoolVerdict) int { return cmp.Compare(b.Verdict.Rule, a.Verdict.Rule) })
	parts := make([]string, len(reasons))
	for i, reason := range reasons {
		parts[i] = reason.String()
	}
	return strings.Join(parts, "; ")
}

// Mix returns the cheapest options of the nodes as "2 x c7a.xlarge", most frequent first.
func (p *Plan) Mix() []string {
	count := map[string]int{}
	var names []string
	for i := range p.Nodes {
		name := p.Nodes[i].Options[0].Name
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d x %s", count[name], name)
	}
	return names
}

// String renders the plan a line a decision, for tests and logs.
func (p *Plan) String() string {
	var b strings.Builder
	for _, pl := range p.Placements {
		fmt.Fprintf(&b, "place on %s: %s\n", pl.Node.Name, podKeys(pl.Pods))
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		fmt.Fprintf(&b, "launch %s %s %s %s ($%.4f/h, %d options) for %s\n", n.Pool.Name, n.Options[0].Name,
			n.Offering.Zone, n.Offering.CapacityType, n.Price(), len(n.Options), podKeys(n.Pods))
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
