package model

import (
	"fmt"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Command is one decision of disruption: these nodes go, and these come first in their place.
type Command struct {
	// Reason is the one that budgets and the condition DisruptionReason name.
	Reason apiv1.DisruptionReason
	// Nodes go, in name order.
	Nodes []*Node
	// Replacements must be initialized before Nodes go. Empty for a delete.
	Replacements []PlannedNode
	// Saves is the price of Nodes less that of Replacements, in dollars per hour.
	Saves float64
}

// A Blocked is a node that was looked at and left alone, and why.
type Blocked struct {
	Node    *Node
	Verdict Verdict
}

// String renders the command for tests and logs.
func (c Command) String() string {
	action := "delete"
	if len(c.Replacements) > 0 {
		action = "replace"
	}
	names := ""
	for i, n := range c.Nodes {
		if i > 0 {
			names += ", "
		}
		names += n.Name
	}
	return fmt.Sprintf("%s %s (%s, saves $%.4f/h)", action, names, c.Reason, c.Saves)
}
