package model

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// A Verdict says whether something is allowed and, if not, why. The zero Verdict is OK. Verdicts are values and not
// errors, because a refusal is an expected result. Many are created, so the text is built only when it is shown.
type Verdict struct {
	Rule Rule
	// For RuleResources and RuleLimit, Resource is the insufficient resource and By the missing amount. For
	// RuleOversized they are the requested resource and amount. By has the unit of Resources.
	Resource corev1.ResourceName
	By       int64
	// Subject is what the rule is about: the taint, the label key and values, the pod, or the budget.
	Subject string
}

// OK reports whether v is not a refusal.
func (v Verdict) OK() bool { return v.Rule == RuleNone }

// A Rule names one check.
type Rule uint8

// The rules in the order in which they are checked. Only the first broken rule is reported.
const (
	RuleNone        Rule = iota
	RuleNoPool           // there is no usable pool at all
	RulePool             // the pool is not ready, is being deleted, or is static
	RuleUnsupported      // the pod uses a feature that the engine does not support
	RuleInvalid          // the pod's own constraints cannot be read or contradict themselves
	RuleOversized        // the pod requests By of Resource, which no node can have
	RuleTaint            // the pod does not tolerate Subject
	RuleLabels           // node selector or affinity conflicts with Subject
	RuleResources        // no type has enough of Resource, short By
	RuleShape            // each resource is sufficient in some type, but not all in one type
	RulePorts            // a host port is taken
	RuleTopology         // affinity, anti-affinity or spread constraints leave no domain: Subject
	RuleOffering         // types match, but none is available now
	RuleVolume           // a volume claim of the pod excludes all nodes, or this one: Subject
	RuleLimit            // the pool's limit of Resource would be exceeded by By
	RuleMinValues        // fewer distinct values of Subject than minValues requires
	RuleEffort           // not tried, because the bound on the work of a plan was reached
	RuleBudget           // the disruption budget Subject is used up
	RuleNotReady         // the node is not initialized
	RuleDisrupted        // the node is being deleted or disrupted already
	RuleAnnotation       // do-not-disrupt on Subject
	RulePolicy           // the pool's disruption settings forbid it: Subject
	RuleNominated        // pods are on their way to the node
	RuleRecent           // consolidateAfter has not passed since the last pod came or went
	RuleInUse            // the node runs pods: Subject
	RulePDB              // a PodDisruptionBudget blocks eviction of a pod of the node: Subject
	RuleNoPlace          // a pod of the node has no other place: Subject
	RulePrice            // the pods of the node would not cost less elsewhere: Subject
	RulePayback          // the saving does not pay for the evictions: Subject
	RuleUndo             // it would undo a recent move: Subject
	RuleSpot             // too few cheaper spot types to choose from: Subject
	RuleUnhealthy        // too many nodes are unhealthy to repair one: Subject
	RuleNotDue           // no disruption reason applies to the node
	RuleBuffer           // the node reserves room for the capacity buffer Subject
)

// Word returns the rule as an identifier, for metric labels and machine-readable output.
func (r Rule) Word() string {
	switch r {
	case RuleNone:
		return "none"
	case RuleBudget:
		return "budget"
	case RuleNotReady:
		return "not_ready"
	case RuleDisrupted:
		return "disrupted"
	case RuleAnnotation:
		return "do_not_disrupt"
	case RulePolicy:
		return "policy"
	case RuleNominated:
		return "nominated"
	case RuleRecent:
		return "consolidate_after"
	case RuleInUse:
		return "in_use"
	case RulePDB:
		return "pdb"
	case RuleNoPlace:
		return "no_capacity"
	case RulePrice:
		return "price"
	case RulePayback:
		return "payback"
	case RuleUndo:
		return "recently_replaced"
	case RuleSpot:
		return "spot"
	case RuleUnhealthy:
		return "unhealthy"
	case RuleNotDue:
		return "no_reason"
	case RuleBuffer:
		return "buffer"
	case RuleEffort:
		return "search_limit"
	}
	return "placement"
}

// String returns the sentence that events, the CLI and the dashboard show.
func (v Verdict) String() string {
	switch v.Rule {
	case RuleNone:
		return "fits"
	case RuleNoPool:
		return "there is no NodePool that is ready"
	case RulePool:
		return v.Subject
	case RuleUnsupported:
		return "asks for " + v.Subject + ", which is not supported"
	case RuleInvalid:
		return v.Subject
	case RuleOversized:
		return v.oversized()
	case RuleTaint:
		return "does not tolerate taint " + v.Subject
	case RuleLabels:
		return "node selector or affinity does not match: " + v.Subject
	case RuleResources:
		return fmt.Sprintf("no instance type has enough %s: %s short", v.Resource, Amount(v.Resource, v.By))
	case RuleShape:
		return "no instance type has this mix of resources"
	case RuleOffering:
		return "no capacity on offer: " + v.Subject
	case RuleVolume:
		return v.Subject
	case RulePorts:
		return "host port is taken: " + v.Subject
	case RuleTopology:
		return "no domain satisfies " + v.Subject
	case RuleLimit:
		return fmt.Sprintf("would exceed the limit of %s by %s", v.Resource, Amount(v.Resource, v.By))
	case RuleMinValues:
		return "minValues not met for " + v.Subject
	}
	return v.disruption()
}

// disruption returns the sentences of the rules about nodes.
func (v Verdict) disruption() string {
	switch v.Rule {
	case RuleEffort:
		return "not tried: the work budget of this plan is used up"
	case RuleBudget:
		return "disruption budget " + v.Subject + " is used up"
	case RuleNotReady:
		return "node is not initialized"
	case RuleDisrupted:
		return "node is being disrupted already"
	case RuleAnnotation:
		return "do-not-disrupt is set on " + v.Subject
	case RulePolicy:
		return v.Subject
	case RuleNominated:
		return "pods are on their way to the node"
	case RuleRecent:
		if v.Subject != "" {
			return "waits " + v.Subject
		}
		return "consolidateAfter has not passed"
	case RuleInUse:
		return "runs " + v.Subject
	case RulePDB, RuleNoPlace, RulePrice, RulePayback, RuleUndo, RuleSpot, RuleUnhealthy:
		return v.Subject
	case RuleNotDue:
		return "no disruption reason applies"
	case RuleBuffer:
		return "keeps room for capacity buffer " + v.Subject
	}
	return fmt.Sprintf("rejected by rule %d", v.Rule)
}
