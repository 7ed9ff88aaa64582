package verify

import (
	"fmt"
	"strings"
)

// A Violation is one rule that a plan breaks. It names what it concerns: a pod, a planned
// node, an existing node or a NodePool, so that the rest of the plan can be carried out. A
// violation that names none of them concerns the figures of the plan: its price, its floor
// or an empty refusal.
type Violation struct {
	Rule Rule
	// Node names the planned node ("planned node 2 (default)") or an
	// existing one; empty if the violation is not about one node. PlannedNode tells the two apart.
	Node string
	// Pod is the key of the pod; empty if the violation is not about one pod.
	Pod string
	// Pool is the name of the NodePool; empty unless its nodes break the rule together.
	Pool string
	// Type is the instance type, with the offering where that matters.
	Type string
	// Detail says what is wrong, with the amounts.
	Detail string

	planned int // the position of the planned node, counted from one; zero for none
}

// PlannedNode returns the position in Plan.Nodes of the node that v concerns, and false if
// v concerns an existing node or none.
func (v Violation) PlannedNode() (position int, ok bool) {
	return v.planned - 1, v.planned > 0
}

// String returns one line: the rule, what breaks it, and how.
func (v Violation) String() string {
	var who []string
	for _, w := range []struct{ word, name string }{{"", v.Node}, {"pool ", v.Pool}, {"type ", v.Type}, {"pod ", v.Pod}} {
		if w.name != "" {
			who = append(who, w.word+w.name)
		}
	}
	if len(who) == 0 {
		return fmt.Sprintf("%s: %s", v.Rule, v.Detail)
	}
	return fmt.Sprintf("%s: %s: %s", v.Rule, strings.Join(who, ", "), v.Detail)
}

// A Rule names one rule that a plan must keep.
type Rule string

// The rules.
const (
	RuleAccount      Rule = "account"      // every pending pod is placed or refused, once
	RuleRefusal      Rule = "refusal"      // a refusal has reasons
	RulePool         Rule = "pool"         // the pool exists, may launch nodes, and its requirements hold
	RuleType         Rule = "type"         // options are types of the pool within the node's requirements, cheapest first
	RuleOffering     Rule = "offering"     // the offering is available
	RuleReservation  Rule = "reservation"  // no reservation has more nodes than it holds
	RuleMinValues    Rule = "minValues"    // minValues of the pool hold
	RuleResources    Rule = "resources"    // pods and DaemonSets fit
	RulePorts        Rule = "ports"        // no two pods of a node have one host port
	RuleLabels       Rule = "labels"       // node selectors and required node affinity are met
	RuleTaints       Rule = "taints"       // hard taints are tolerated
	RuleVolumes      Rule = "volumes"      // volumes can be attached
	RuleSpread       Rule = "spread"       // topology spread constraints hold
	RuleAffinity     Rule = "affinity"     // required pod affinity holds
	RuleAntiAffinity Rule = "antiAffinity" // required pod anti-affinity holds
	RuleNode         Rule = "node"         // an existing node is in the snapshot and is not being deleted
	RuleLimits       Rule = "limits"       // no pool exceeds its limits
	RulePrice        Rule = "price"        // prices add up, and none is below the floor
)
