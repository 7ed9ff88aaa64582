package verify

import (
	"strings"

	"github.com/karpenter-go/karpenter/engine/verify/podtopology"
)

// A Violation is one rule that a plan breaks. It names the pod, planned node, existing node or NodePool concerned, so
// that the rest of the plan can be executed. If it names none of them, it concerns the plan's price, its floor, an empty
// refusal or a command without nodes.
type Violation struct {
	Rule Rule
	// Node is the planned node ("planned node 2 (default)") or the existing node. It is empty if the violation is not
	// about one node. PlannedNode distinguishes the two.
	Node string
	// Pod is the key of the pod; empty if the violation is not about one pod.
	Pod string
	// Pool is the name of the NodePool. It is set only if the nodes of the pool break the rule together.
	Pool string
	// Type is the name of the instance type; empty if the violation is not about one type.
	Type string
	// Detail describes the violation, with the amounts.
	Detail string

	planned int // position of the planned node, counted from one; zero for none
}

// PlannedNode returns the index in Plan.Nodes of the planned node. ok is false if v concerns an existing node or no
// node.
func (v Violation) PlannedNode() (position int, ok bool) {
	return v.planned - 1, v.planned > 0
}

// String returns one line with the rule, the object that breaks it, and the details.
func (v Violation) String() string {
	var who []string
	for _, w := range []struct{ word, name string }{{"", v.Node}, {"pool ", v.Pool}, {"type ", v.Type}, {"pod ", v.Pod}} {
		if w.name != "" {
			who = append(who, w.word+w.name)
		}
	}
	text := string(v.Rule) + ": "
	if len(who) > 0 {
		text += strings.Join(who, ", ") + ": "
	}
	return text + v.Detail
}

// A Rule names one rule that a plan must meet.
type Rule string

// The rules.
const (
	RuleAccount      Rule = "account"                      // each pending pod is placed or refused exactly once
	RuleRefusal      Rule = "refusal"                      // a refusal has reasons
	RulePool         Rule = "pool"                         // the pool exists, may launch nodes, and its requirements hold
	RuleType         Rule = "type"                         // options are distinct types of the pool within the node's requirements
	RuleOffering     Rule = "offering"                     // the offering is available
	RuleReservation  Rule = "reservation"                  // no reservation has more nodes than instances
	RuleCommitment   Rule = "commitment"                   // no commitment covers more nodes than it has units left for
	RuleMinValues    Rule = "minValues"                    // minValues of the pool hold
	RuleResources    Rule = "resources"                    // pods and DaemonSets fit
	RulePorts        Rule = "ports"                        // no two pods of a node use the same host port
	RuleLabels       Rule = "labels"                       // node selectors and required node affinity are met
	RuleTaints       Rule = "taints"                       // hard taints are tolerated
	RuleVolumes      Rule = "volumes"                      // volumes can be attached
	RuleSpread            = Rule(podtopology.Spread)       // topology spread constraints hold
	RuleAffinity          = Rule(podtopology.Affinity)     // required pod affinity holds
	RuleAntiAffinity      = Rule(podtopology.AntiAffinity) // required pod anti-affinity holds
	RuleNode         Rule = "node"                         // an existing node is in the snapshot and is not being deleted
	RuleLimits       Rule = "limits"                       // no pool exceeds its limits
	RulePrice        Rule = "price"                        // price and floor are right, options are sorted by price, consolidations save money
)
