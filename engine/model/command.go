package model

import (
	"fmt"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Command is one decision of disruption: the nodes that are removed and the nodes that are launched to replace them.
type Command struct {
	// Reason is the reason that disruption budgets and the condition DisruptionReason use.
	Reason apiv1.DisruptionReason
	// Method is the method that found the command: empty, drift, expiry, repair, static, single or multi.
	Method string
	// Nodes are the nodes to remove, in name order.
	Nodes []*Node
	// Replacements must be initialized before Nodes are removed. It is empty if the command only deletes nodes.
	Replacements []PlannedNode
	// Placements are the pods of Nodes that move to existing capacity. The pods that move to Replacements are listed
	// there.
	Placements []Placement
	// Saves is the price of Nodes less the price of Replacements, in dollars per hour. It may be negative if the
	// reason is not cost.
	Saves float64
	// Force removes the nodes with all their pods, because the nodes no longer work.
	Force bool
}

// A Blocked is a node that disruption considered but does not remove, with the reason.
type Blocked struct {
	Node    *Node
	Verdict Verdict
	// Worth is the price of the node less the worth of its pods at the best prices on offer, in dollars per hour. So
	// much is wasted while the node stays. It is never negative.
	Worth float64
}

// Decision returns the kind of the command in one word, as metrics and events use it.
func (c *Command) Decision() string {
	if len(c.Replacements) > 0 {
		return "replace"
	}
	return "delete"
}

// Scatters reports whether the pods of the command may move to more than one place. Each replacement is a place; all
// existing capacity together is one.
func (c *Command) Scatters() bool { return len(c.Replacements)+min(1, len(c.Placements)) > 1 }

// Moves returns the number of pods that the command moves.
func (c *Command) Moves() int {
	n := 0
	for _, node := range c.Nodes {
		n += len(node.Reschedulable())
	}
	return n
}

// Names returns the names of the nodes to remove, in order.
func (c *Command) Names() []string {
	names := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		names[i] = n.Name
	}
	return names
}

// String renders the command for tests and logs.
func (c Command) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", c.Decision(), strings.Join(c.Names(), ", "))
	if len(c.Replacements) > 0 {
		with := make([]string, len(c.Replacements))
		for i := range c.Replacements {
			r := &c.Replacements[i]
			with[i] = r.Options[0].Name + " " + r.Offering.Zone + " " + r.Offering.CapacityType
		}
		slices.Sort(with)
		fmt.Fprintf(&b, " by %s", strings.Join(with, ", "))
	}
	fmt.Fprintf(&b, " (%s, saves $%.4f/h)", c.Reason, c.Saves)
	return b.String()
}
