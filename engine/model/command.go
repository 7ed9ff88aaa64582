package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Command is one decision of disruption: the nodes that are removed and the nodes that are launched to replace them.
type Command struct {
	// Reason is the disruption reason, as in budgets and in the condition DisruptionReason.
	Reason apiv1.DisruptionReason
	// Method is the method that found the command: empty, drift, expiry, repair, static, single or multi.
	Method string
	// Nodes are the nodes to remove, in name order.
	Nodes []*Node
	// Replacements must be initialized before Nodes are removed. It is empty if the command only deletes nodes.
	Replacements []PlannedNode
	// Placements are the pods of Nodes that move to nodes that exist or are being launched already. Pods that move to
	// Replacements are in PlannedNode.Pods.
	Placements []Placement
	// Saves is the price of Nodes less the price of Replacements, in dollars per hour. It may be negative if the reason
	// is not cost. It is zero for a reboot, and for a node of a static NodePool that is terminated first.
	Saves float64
	// Force removes the nodes with all their pods, because the nodes no longer work.
	Force bool
	// TerminateFirst is why Nodes are terminated although some of their pods fit on no other node. It is empty for all
	// other commands. Capacity for these pods is launched when Nodes are gone, and is not part of the command.
	TerminateFirst string
	// Repair is set if the reason is Unhealthy and the command is not forced.
	Repair *Repair
}

// The values of Command.TerminateFirst.
const (
	// TerminateFirstReservation means that all capacity reservations that could be used are full, and that the node runs
	// in one of them.
	TerminateFirstReservation = "no-reserved-capacity"
	// TerminateFirstLimit means that the static NodePool is at its limit of nodes.
	TerminateFirstLimit = "static-at-limit"
)

// Reboots reports whether the command reboots its node and does not remove it.
func (c *Command) Reboots() bool { return c.Repair != nil && c.Repair.Reboot }

// A Blocked is a node that disruption considered but does not remove, with the reason.
type Blocked struct {
	Node    *Node
	Verdict Verdict
	// Waste is the price of the node less a lower bound of the price of capacity for its pods, in dollars per hour. It is
	// never negative.
	Waste float64
}

// Decision returns "replace", "delete", "reboot" or "terminate-first", for metrics and events.
func (c *Command) Decision() string {
	switch {
	case c.Reboots():
		return "reboot"
	case c.TerminateFirst != "":
		return "terminate-first"
	case len(c.Replacements) > 0:
		return "replace"
	}
	return "delete"
}

// Scatters reports whether the pods may move to several destinations. Each replacement is one; all existing nodes
// together count as one.
func (c *Command) Scatters() bool { return len(c.Replacements)+min(1, len(c.Placements)) > 1 }

// Moves returns the number of pods of Nodes that need another node.
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

// String prints the command for tests and logs.
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
	if c.Reboots() {
		fmt.Fprintf(&b, " (%s)", c.Reason)
		return b.String()
	}
	b.WriteString(" (" + string(c.Reason))
	if c.TerminateFirst != "" {
		b.WriteString(", " + c.TerminateFirst)
	}
	fmt.Fprintf(&b, ", saves $%.4f/h)", c.Saves)
	return b.String()
}

// A Repair is the reason for which a command repairs a node, and how the node is repaired.
type Repair struct {
	// Condition, Status and Reason are those of the node's condition that the policy matches. ReasonRegex is the expression
	// of the policy, empty if it has none.
	Condition           corev1.NodeConditionType
	Status              corev1.ConditionStatus
	Reason, ReasonRegex string
	// EligibleAt is when the condition had lasted as long as the policy tolerates it.
	EligibleAt time.Time
	// Reboot is true if the node is rebooted and not replaced. Escalated is true if the policy requires a reboot, but
	// the node is replaced because earlier reboots did not help.
	Reboot, Escalated bool
	// DrainBound bounds the drain. nil means that no policy sets a bound, so only the claim's terminationGracePeriod
	// applies. DrainBoundBy is the condition whose policy set it, empty if the bound is the terminationGracePeriod.
	DrainBound   *time.Duration
	DrainBoundBy corev1.NodeConditionType
	// Attempt is how many times in a row repair has replaced the node, this time included: repair.Attempt of its claim plus 1.
	Attempt int
}
