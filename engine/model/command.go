package model

import (
	"fmt"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Command is one decision of disruption: these nodes go, and these come first in their place.
type Command struct {
	// Reason is the one that budgets and the condition DisruptionReason name.
	Reason apiv1.DisruptionReason
	// Method is how it was found: empty, drift, expiry, repair, static, single or multi.
	Method string
	// Nodes go, in name order.
	Nodes []*Node
	// Replacements must be initialized before Nodes go. Empty for a delete.
	Replacements []PlannedNode
	// Placements are the pods of Nodes that go onto capacity there is. Those of Replacements say which go there.
	Placements []Placement
	// Saves is the price of Nodes less that of Replacements, in dollars per hour. It is negative where something else than
	// money is the reason.
	Saves float64
	// Force ends the nodes whatever is still on them, because nothing on them works any more.
	Force bool
}

// A Blocked is a node that was looked at and left alone, and why.
type Blocked struct {
	Node    *Node
	Verdict Verdict
	// Worth is what the node costs beyond what its pods are worth at the best prices on offer, in dollars per hour: what is
	// lost as long as Verdict stands. It is never negative.
	Worth float64
}

// Decision returns the command in one word, as metrics and events know it.
func (c *Command) Decision() string {
	if len(c.Replacements) > 0 {
		return "replace"
	}
	return "delete"
}

// Scatters reports whether there is more than one place that pods of the command may go to: its replacements, and room that is
// there.
func (c *Command) Scatters() bool { return len(c.Replacements)+min(1, len(c.Placements)) > 1 }

// Moves is how many pods the command moves.
func (c *Command) Moves() int {
	n := 0
	for _, node := range c.Nodes {
		n += len(node.Reschedulable())
	}
	return n
}

// Names returns the names of the nodes that go, in order.
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
