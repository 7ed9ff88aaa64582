package model

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A Verdict is the result of a check: OK, or the rule that failed, with the details. The zero Verdict is OK. Verdicts
// are values and not errors, because a refusal is an expected result. Many are created, so the text is built only when
// it is shown.
//
// Code that depends on a Verdict reads Rule, Cause, Resource, By and Key, never a text.
type Verdict struct {
	Rule Rule
	// Cause distinguishes verdicts of one Rule. CauseNone is the usual or only cause.
	Cause Cause
	// For RuleResources and RuleLimit, Resource is the insufficient resource and By the missing amount. For
	// RuleOversized they are the requested resource and amount. By has the unit of Resources. For RuleRecent, By is the
	// consolidateAfter in nanoseconds.
	Resource corev1.ResourceName
	By       int64
	// Key is a name that other code reads: the NodePool for RulePolicy and RuleBudget, the topology key for
	// RuleTopology, the object that does not exist for CauseMissing.
	Key string
	// Subject is the subject of the rule as text for users: the taint, the label key and values, the pod, or the
	// budget.
	Subject string
	// Hint is the change that makes the check pass, as text. If it is empty, explain.Fix has a general one.
	Hint string
}

// OK reports whether v is not a refusal.
func (v Verdict) OK() bool { return v.Rule == RuleNone }

// A Rule names one check.
type Rule uint8

// The rules in the order in which they are checked. Only the first broken rule is reported.
const (
	RuleNone        Rule = iota
	RuleNoPool           // there is no NodePool
	RulePool             // the NodePool is not ready, is being deleted, or is static
	RuleUnsupported      // the pod uses a feature that the engine does not support: Subject
	RuleInvalid          // the pod is refused without planning, such as for constraints that contradict each other
	RuleOversized        // the pod requests By of Resource, which no node can have
	RuleTaint            // the pod does not tolerate Subject
	RuleLabels           // node selector or affinity excludes all nodes: Subject
	RuleResources        // no type has enough of Resource, short By
	RuleShape            // each resource is sufficient in some type, but not all in one type
	RulePorts            // a host port is taken: Subject
	RuleTopology         // a constraint over topology Key leaves no domain; Subject are the DaemonSets that conflict
	RuleOffering         // types match, but none is available now: Subject
	RuleVolume           // a volume claim of the pod excludes all nodes, or this one: Subject
	RuleLimit            // the limit of Resource in the NodePool would be exceeded by By
	RuleMinValues        // fewer distinct values of Key than minValues requires
	RuleEffort           // not evaluated, because the bound on the work of a decision was reached
	RuleBudget           // the disruption budget Subject of NodePool Key is used up
	RuleNotReady         // the node is not initialized
	RuleDisrupted        // the node is being deleted or disrupted already
	RuleAnnotation       // do-not-disrupt on Subject
	RulePolicy           // the settings of NodePool Key or of the controller forbid it
	RuleNominated        // pending pods are nominated to the node
	RuleRecent           // consolidateAfter has not elapsed, or consolidation waits
	RuleInUse            // the node runs Subject
	RulePDB              // a PodDisruptionBudget blocks eviction of a pod of the node: Subject
	RuleNoPlace          // a pod of the node fits on no other node: Subject
	RulePrice            // the pods of the node would not cost less elsewhere: Subject
	RulePayback          // the saving does not pay for the evictions: Subject
	RuleUndo             // the command would undo a recent move of the same pods
	RuleSpot             // too few cheaper spot types to choose from: Subject
	RuleUnhealthy        // the node is unhealthy and must not be repaired now: Subject
	RuleNotDue           // no disruption reason applies to the node
	RuleBuffer           // the free capacity of the node is reserved for the capacity buffer Subject
)

// A Cause is a kind of refusal within a Rule.
type Cause uint8

// The causes, by the rules for which they are used.
const (
	CauseNone Cause = iota

	CauseDeleting // RulePool: the NodePool is being deleted
	CauseStatic   // RulePool, RulePolicy: the NodePool is static and keeps By nodes
	CauseNotReady // RulePool: the condition Ready is not True; Subject is its message

	CauseGate     // RuleInvalid: a scheduling gate is set
	CauseBackoff  // RuleInvalid, RulePolicy: the next attempt is made later
	CauseInternal // RuleInvalid: an internal error of the planner

	CauseSpread         // RuleTopology: topology spread
	CauseAffinity       // RuleTopology: pod affinity
	CauseAntiAffinity   // RuleTopology: pod anti-affinity
	CauseOthersAffinity // RuleTopology: anti-affinity of another pod, or of the DaemonSets Subject
	CauseDaemonSpread   // RuleTopology: topology spread that counts pods of the DaemonSet Subject
	CauseDaemons        // RuleTopology: constraints of the pod and of DaemonSet pods together

	CauseReservation // RuleOffering: a capacity reservation has no instance left
	CauseMissing     // RuleVolume: the object Key does not exist

	CauseNextPass // RuleEffort: the node is evaluated first in the next pass

	CauseNoNodePool  // RulePolicy: the NodePool does not exist
	CausePaused      // RulePolicy: disruption is paused for all NodePools
	CausePoolPaused  // RulePolicy: disruption of the NodePool is paused
	CauseZoneShifted // RulePolicy: traffic is shifted away from zone Subject
	CauseRateLimit   // RulePolicy: the bound of disrupted nodes per minute is reached
	CauseNever       // RulePolicy: consolidateAfter is Never
	CauseWhenEmpty   // RulePolicy: only empty nodes are consolidated, and the node runs pod Subject
	CauseUnpriced    // RulePolicy: the price of Subject is not known
	CauseOldPrices   // RulePolicy: the provider has not refreshed its prices since the start
	CauseFeatureGate // RulePolicy, RuleSpot: a feature gate is off
	CauseSurplus     // RulePolicy: the static NodePool has more nodes than replicas

	CauseMoving    // RuleRecent: pods of an earlier disruption are moving
	CauseGathering // RuleRecent: other nodes will be consolidatable within By

	CauseRebooting    // RuleDisrupted: repair reboots the node
	CauseDoNotRepair  // RuleUnhealthy: the node has annotation do-not-repair
	CauseNoDrainBound // RuleUnhealthy: a pod blocks the drain, and nothing bounds it

	CauseManyPDBs // RulePDB: several PodDisruptionBudgets select one pod

	CauseEmptyInstead // RulePrice: removing empty nodes saves as much
	CauseMayCostMore  // RulePrice: each cheaper type may also be launched at a higher price
	CauseBalanced     // RulePayback: the score is too low for consolidationPolicy Balanced
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
	return r.placementWord()
}

// placementWord returns the identifier of a rule about pods.
func (r Rule) placementWord() string {
	switch r {
	case RuleNoPool, RulePool:
		return "nodepool"
	case RuleUnsupported, RuleInvalid, RuleOversized:
		return "invalid"
	case RuleTaint:
		return "taint"
	case RuleLabels:
		return "labels"
	case RuleResources, RuleShape:
		return "resources"
	case RuleTopology:
		return "topology"
	case RuleOffering:
		return "capacity"
	case RuleVolume:
		return "volume"
	case RuleLimit:
		return "limit"
	}
	return "placement"
}

// String returns the reason as a part of a sentence, without a full stop. Events and the command line show it.
func (v Verdict) String() string {
	switch v.Rule {
	case RuleNone:
		return "fits"
	case RuleNoPool:
		return "no NodePool exists"
	case RulePool:
		return v.unusable()
	case RuleUnsupported:
		return "uses " + v.Subject + ", which is not supported"
	case RuleOversized:
		return v.oversized()
	case RuleTaint:
		return "does not tolerate taint " + v.Subject
	case RuleResources:
		return fmt.Sprintf("no instance type has enough %s: %s more needed", v.Resource, units.Amount(v.Resource, v.By, units.Up))
	case RuleShape:
		return "no single instance type has enough of every requested resource"
	case RuleOffering:
		if v.Cause == CauseReservation {
			return "capacity reservation " + v.Subject + " has no instance left"
		}
		return "no available offering for " + v.Subject + " (out of capacity, or not sold in the allowed zones and capacity types)"
	case RulePorts:
		return "host port is used: " + v.Subject
	case RuleTopology:
		return v.topology()
	case RuleLimit:
		return fmt.Sprintf("would exceed spec.limits.%s of the NodePool by %s", v.Resource, units.Amount(v.Resource, v.By, units.Up))
	case RuleMinValues:
		return "fewer values of " + v.Key + " than minValues requires"
	case RuleInvalid, RuleLabels, RuleVolume:
		return v.Subject
	}
	return v.disruption()
}

func (v Verdict) unusable() string {
	switch v.Cause {
	case CauseDeleting:
		return "is being deleted"
	case CauseStatic:
		return fmt.Sprintf("is static: keeps %s (spec.replicas) and launches none for pending pods", units.Counted(int(v.By), "node"))
	}
	if v.Subject != "" {
		return "is not ready: " + v.Subject
	}
	return "is not ready"
}

// topology returns the text of RuleTopology.
func (v Verdict) topology() string {
	over := " over " + v.Key
	with := ""
	if v.Subject != "" {
		with = ", given the pods of " + v.Subject + " that run on new nodes"
	}
	switch v.Cause {
	case CauseSpread:
		return "no domain satisfies topology spread" + over + with
	case CauseAffinity:
		return "no domain satisfies pod affinity" + over + with
	case CauseAntiAffinity:
		return "no domain satisfies pod anti-affinity" + over + with
	case CauseOthersAffinity:
		if v.Subject != "" {
			return "no domain satisfies the anti-affinity of " + v.Subject + over
		}
		return "no domain satisfies another pod's anti-affinity" + over
	case CauseDaemonSpread:
		return "topology spread" + over + " counts pods of " + v.Subject + ", which run on every new node"
	}
	return "conflicts with the (anti-)affinity of pods of " + v.Subject + ", which may run on every new node"
}

// disruption returns the text of the rules about nodes.
func (v Verdict) disruption() string {
	switch v.Rule {
	case RuleEffort:
		if v.Cause == CauseNextPass {
			return "not evaluated: search limit reached, evaluated first in the next pass"
		}
		return "not evaluated: the work budget of this plan is used up"
	case RuleBudget:
		return fmt.Sprintf("disruption budget of NodePool %q is used up (nodes: %q)", v.Key, v.Subject)
	case RuleNotReady:
		return "node is not initialized"
	case RuleDisrupted:
		if v.Cause == CauseRebooting {
			return "node is being rebooted by node repair"
		}
		return "node is already being disrupted"
	case RuleAnnotation:
		return v.Subject + " has annotation " + apiv1.DoNotDisruptAnnotationKey
	case RulePolicy:
		return v.policy()
	case RuleNominated:
		return "node is nominated for pending pods"
	case RuleRecent:
		return v.recent()
	case RuleInUse:
		return "runs " + v.Subject
	case RuleUndo:
		return "every cheaper instance type was replaced by this node within 24h (prevents oscillation)"
	case RulePDB, RuleNoPlace, RulePrice, RulePayback, RuleSpot, RuleUnhealthy:
		return v.Subject
	case RuleNotDue:
		return "no disruption reason applies"
	case RuleBuffer:
		return "free capacity of the node is reserved for CapacityBuffer " + v.Subject
	}
	return fmt.Sprintf("rejected by rule %d", v.Rule)
}

// policy returns the text of RulePolicy. Without a Cause it is Subject.
func (v Verdict) policy() string {
	pool := fmt.Sprintf("NodePool %q", v.Key)
	switch v.Cause {
	case CauseNoNodePool:
		return pool + " does not exist"
	case CausePaused:
		return "disruption is paused (--pause-disruption or ConfigMap karpenter-throttle)"
	case CausePoolPaused:
		return "disruption of " + pool + " is paused by annotation " + apiv1.DisruptionPausedAnnotationKey
	case CauseZoneShifted:
		return "a zonal shift away from zone " + v.Subject + " is active: no node there is disrupted voluntarily"
	case CauseBackoff:
		return "an earlier disruption was cancelled; next attempt not before " + v.Subject
	case CauseRateLimit:
		return "--max-disruptions-per-minute is reached"
	case CauseStatic:
		return pool + " is static (spec.replicas): its nodes are not consolidated"
	case CauseNever:
		return pool + " disables consolidation: spec.disruption.consolidateAfter is Never"
	case CauseWhenEmpty:
		return pool + " consolidates empty nodes only (consolidationPolicy: WhenEmpty), and pod " + v.Subject + " runs here"
	case CauseUnpriced:
		return "price of " + v.Subject + " is unknown: the provider lists no such offering"
	case CauseOldPrices:
		return "prices are not current yet: the provider has not refreshed them since the controller started"
	case CauseFeatureGate:
		return pool + " is static and feature gate StaticCapacity is off"
	case CauseSurplus:
		return "surplus nodes of " + pool + " are deleted first (more nodes than spec.replicas)"
	}
	return v.Subject
}

// recent returns the text of RuleRecent.
func (v Verdict) recent() string {
	switch v.Cause {
	case CauseMoving:
		return "waiting for pods of an earlier disruption to reschedule"
	case CauseGathering:
		return "waiting up to " + units.Period(time.Duration(v.By)) + " for other nodes to become consolidatable, so that they are consolidated together"
	}
	if v.By == 0 {
		return "condition Consolidatable of the NodeClaim is not True yet"
	}
	return "consolidateAfter (" + units.Period(time.Duration(v.By)) + ") has not elapsed since the last pod was added or removed"
}

// roughly prints a large amount with at most three digits, rounded down: 16Ti of memory, 9T cores.
func roughly(name corev1.ResourceName, v int64) string {
	base, units := int64(1000), []string{"", "k", "M", "G", "T", "P"}
	switch {
	case name == corev1.ResourceCPU:
		v /= 1000
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, isHugePage(name):
		base, units = 1024, []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	}
	unit := 0
	for v >= base && unit < len(units)-1 {
		v, unit = v/base, unit+1
	}
	return fmt.Sprintf("%d%s", v, units[unit])
}

// oversized returns the message of RuleOversized.
func (v Verdict) oversized() string {
	amount := roughly(v.Resource, v.By)
	if v.By >= MaxAmount {
		amount = "more than " + amount
	}
	return fmt.Sprintf("requests %s %s, which no node can have", amount, v.Resource)
}
