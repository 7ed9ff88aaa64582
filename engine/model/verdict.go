package model

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
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
	// For RuleResources and RuleLimit, Resource is the insufficient resource and By the missing amount, in the unit of
	// Resources. For RuleOversized they are the requested resource and amount. For RuleRecent, By is in nanoseconds:
	// consolidateAfter, or for CauseGathering the longest wait. For other rules see Cause.
	Resource corev1.ResourceName
	By       int64
	// Key is a name that other code reads. It is the NodePool for RulePolicy, RuleBudget, RulePayback and RuleSpot if the
	// verdict concerns one. It is the topology key for RuleTopology, the label key for RuleMinValues, and the object that
	// does not exist for CauseMissing.
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

// The rules. Those up to RuleEffort are about pods that get no node. They are numbered roughly in the order in which they are
// checked, and only the first broken rule is reported. Those from RuleBudget on are about nodes that disruption keeps. Where a
// line names a field of Verdict, such as Subject, that field has the details.
const (
	RuleNone        Rule = iota
	RuleNoPool           // there is no NodePool
	RulePool             // the NodePool is not ready, is being deleted, or is static
	RuleUnsupported      // the pod uses a feature that the engine does not support: Subject
	RuleInvalid          // the pod is refused without planning, such as for constraints that contradict each other
	RuleOversized        // the pod requests By of Resource, which no node can have
	RuleTaint            // the pod does not tolerate Subject
	RuleLabels           // no node has the labels that the pod, or the NodePool itself, requires: Subject
	RuleResources        // no type has enough of Resource, short By
	RuleShape            // for each resource some type has enough, but no type has enough of all
	RulePorts            // a host port is taken: Subject
	RuleTopology         // a constraint with topology key Key leaves no domain; Subject are the DaemonSets that conflict
	RuleOffering         // types match, but none is available now: Subject
	RuleVolume           // a volume claim of the pod excludes all nodes, or this one: Subject
	RuleLimit            // the limit of Resource in the NodePool would be exceeded by By
	RuleMinValues        // the options have fewer distinct values of Key than minValues requires
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
	RuleUndo             // every cheaper type was replaced by this node within the last 24 hours
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
	CauseQuota       // RuleOffering: the quota Subject of the account is used up
	CauseMissing     // RuleVolume: the object Key does not exist

	CauseNextPass        // RuleEffort: consolidation has reached Options.MaxWhatIfs before this node
	CauseOtherNamespaces // RuleEffort: required (anti-)affinity over Key selects pods to plan of other namespaces

	CauseNoNodePool  // RulePolicy: the NodePool does not exist
	CausePaused      // RulePolicy: disruption is paused for all NodePools
	CausePoolPaused  // RulePolicy: disruption of the NodePool is paused
	CauseZoneShifted // RulePolicy: traffic is shifted away from zone Subject
	CauseRateLimit   // RulePolicy: the bound per minute allows the disruption of By more nodes, fewer than the command has
	CauseNever       // RulePolicy: consolidateAfter is Never
	CauseWhenEmpty   // RulePolicy: only empty nodes are consolidated, and the node runs pod Subject
	CauseUnpriced    // RulePolicy: the price of Subject is not known
	CauseOldPrices   // RulePolicy: the provider has not refreshed its prices since the start
	CauseFeatureGate // RulePolicy, RuleSpot: a feature gate is off
	CauseSurplus     // RulePolicy: the static NodePool has more nodes than replicas
	CauseExpiring    // RulePolicy: By nodes are being replaced because of expiry, the most at a time

	CauseMoving            // RuleRecent: pods of an earlier disruption are moving
	CauseGathering         // RuleRecent: other nodes will be consolidatable within By
	CauseNotConsolidatable // RuleRecent: the condition Consolidatable is not True yet

	CauseRebooting    // RuleDisrupted: repair reboots the node
	CauseDoNotRepair  // RuleUnhealthy: the node has annotation do-not-repair
	CauseNoDrainBound // RuleUnhealthy: a pod blocks the drain, and nothing bounds it

	CauseManyPDBs // RulePDB: several PodDisruptionBudgets select one pod

	CauseEmptyInstead // RulePrice: removing empty nodes saves as much
	CauseHeadroom     // RulePrice: new nodes for the headroom that the pods may take cost as much
	CauseMayCostMore  // RulePrice: each cheaper type may also be launched at a higher price
	CauseBalanced     // RulePayback: the score is too low for consolidationPolicy Balanced
)

// words are the identifiers of rules. Rules that are not listed have the identifier "placement".
var words = map[Rule]string{
	RuleNone: "none", RuleBudget: "budget", RuleNotReady: "not_ready", RuleDisrupted: "disrupted", RuleAnnotation: "do_not_disrupt",
	RulePolicy: "policy", RuleNominated: "nominated", RuleRecent: "consolidate_after", RuleInUse: "in_use", RulePDB: "pdb",
	RuleNoPlace: "no_capacity", RulePrice: "price", RulePayback: "payback", RuleUndo: "recently_replaced", RuleSpot: "spot",
	RuleUnhealthy: "unhealthy", RuleNotDue: "no_reason", RuleBuffer: "buffer", RuleEffort: "search_limit",
	RuleNoPool: "nodepool", RulePool: "nodepool", RuleUnsupported: "invalid", RuleInvalid: "invalid", RuleOversized: "invalid",
	RuleTaint: "taint", RuleLabels: "labels", RuleResources: "resources", RuleShape: "resources", RuleTopology: "topology",
	RuleOffering: "capacity", RuleVolume: "volume", RuleLimit: "limit",
}

// Word returns the rule as an identifier, for metric labels and machine-readable output.
func (r Rule) Word() string { return cmp.Or(words[r], "placement") }

// A Reason is a rule with a cause.
type Reason struct {
	Rule  Rule
	Cause Cause
}

// texts are the reasons of verdicts, see Verdict.Text.
var texts = map[Reason]string{
	{RuleNone, CauseNone}:                "fits",
	{RuleNoPool, CauseNone}:              "no NodePool exists",
	{RulePool, CauseNone}:                "is not ready{: subject}",
	{RulePool, CauseDeleting}:            "is being deleted",
	{RulePool, CauseStatic}:              "is static: keeps {nodes} (spec.replicas) and launches none for pending pods",
	{RuleUnsupported, CauseNone}:         "uses {subject}, which is not supported",
	{RuleTaint, CauseNone}:               "does not tolerate taint {subject}",
	{RuleResources, CauseNone}:           "no instance type has enough {resource}: {amount} more needed",
	{RuleShape, CauseNone}:               "no single instance type has enough of every requested resource",
	{RuleOffering, CauseNone}:            "no available offering for {subject} (out of capacity, or not sold in the allowed zones and capacity types)",
	{RuleOffering, CauseQuota}:           "the account's quota of {subject} is used up",
	{RuleOffering, CauseReservation}:     "capacity reservation {subject} has no instance left",
	{RulePorts, CauseNone}:               "host port is used: {subject}",
	{RuleTopology, CauseSpread}:          "no domain satisfies topology spread over {key}{, given subject}",
	{RuleTopology, CauseAffinity}:        "no domain satisfies pod affinity over {key}{, given subject}",
	{RuleTopology, CauseAntiAffinity}:    "no domain satisfies pod anti-affinity over {key}{, given subject}",
	{RuleTopology, CauseOthersAffinity}:  "no domain satisfies {other anti-affinity} over {key}",
	{RuleTopology, CauseDaemonSpread}:    "topology spread over {key} counts pods of {subject}, which run on every new node",
	{RuleTopology, CauseDaemons}:         "conflicts with the (anti-)affinity of pods of {subject}, which may run on every new node",
	{RuleLimit, CauseNone}:               "would exceed spec.limits.{resource} of the NodePool by {amount}",
	{RuleMinValues, CauseNone}:           "fewer values of {key} than minValues requires",
	{RuleEffort, CauseNone}:              "not evaluated: the work budget of this plan is used up",
	{RuleEffort, CauseNextPass}:          "not evaluated: search limit reached, evaluated first in the next pass",
	{RuleEffort, CauseOtherNamespaces}:   "required (anti-)affinity over {key} selects pending pods of other namespaces, which are planned first",
	{RuleBudget, CauseNone}:              "disruption budget of {pool} is used up (nodes: {quoted subject})",
	{RuleNotReady, CauseNone}:            "node is not initialized",
	{RuleDisrupted, CauseNone}:           "node is already being disrupted",
	{RuleDisrupted, CauseRebooting}:      "node is being rebooted by node repair",
	{RuleAnnotation, CauseNone}:          "{subject} has annotation " + apiv1.DoNotDisruptAnnotationKey,
	{RulePolicy, CauseNoNodePool}:        "{pool} does not exist",
	{RulePolicy, CausePaused}:            "disruption is paused (--pause-disruption or ConfigMap karpenter-throttle)",
	{RulePolicy, CausePoolPaused}:        "disruption of {pool} is paused by annotation " + apiv1.DisruptionPausedAnnotationKey,
	{RulePolicy, CauseZoneShifted}:       "a zonal shift away from zone {subject} is active: no node there is disrupted voluntarily",
	{RulePolicy, CauseBackoff}:           "an earlier disruption was cancelled; next attempt not before {subject}",
	{RulePolicy, CauseRateLimit}:         "max-disruptions-per-minute allows {nodes} more in this minute",
	{RulePolicy, CauseStatic}:            "{pool} is static (spec.replicas): its nodes are not consolidated",
	{RulePolicy, CauseNever}:             "{pool} disables consolidation: spec.disruption.consolidateAfter is Never",
	{RulePolicy, CauseWhenEmpty}:         "{pool} consolidates empty nodes only (consolidationPolicy: WhenEmpty), and pod {subject} runs here",
	{RulePolicy, CauseUnpriced}:          "price of {subject} is unknown: the provider lists no such offering, or no price of it",
	{RulePolicy, CauseOldPrices}:         "prices are not current yet: the provider has not refreshed them since the controller started",
	{RulePolicy, CauseFeatureGate}:       "{pool} is static and feature gate StaticCapacity is off",
	{RulePolicy, CauseSurplus}:           "surplus nodes of {pool} are deleted first (more nodes than spec.replicas)",
	{RulePolicy, CauseExpiring}:          "{nodes} are being replaced because of expiry, the most at a time",
	{RuleNominated, CauseNone}:           "node is nominated for pending pods",
	{RuleRecent, CauseNone}:              "consolidateAfter ({period}) has not elapsed since the last pod was added or removed",
	{RuleRecent, CauseMoving}:            "waiting for pods of an earlier disruption to reschedule",
	{RuleRecent, CauseGathering}:         "waiting up to {period} for other nodes to become consolidatable, so that they are consolidated together",
	{RuleRecent, CauseNotConsolidatable}: "condition Consolidatable of the NodeClaim is not True yet",
	{RuleInUse, CauseNone}:               "runs {subject}",
	{RuleUndo, CauseNone}:                "every cheaper instance type was replaced by this node within 24h (prevents oscillation)",
	{RuleNotDue, CauseNone}:              "no disruption reason applies",
	{RuleBuffer, CauseNone}:              "free capacity of the node is reserved for CapacityBuffer {subject}",
}

// String returns the reason as a part of a sentence, without a full stop. Events and the command line show it. For a
// rule without a text, the result is the Subject.
func (v Verdict) String() string {
	switch {
	case v.Rule == RuleOversized:
		return v.oversized()
	case v == (Verdict{Rule: RuleRecent}): // consolidateAfter is 0s
		v.Cause = CauseNotConsolidatable
	}
	if text, ok := v.Text(texts); ok {
		return text
	}
	return v.Subject
}

// Text returns the text for the rule and cause of v, or for its rule alone, with values of v for the words in braces.
// ok is false if there is none.
func (v Verdict) Text(texts map[Reason]string) (text string, ok bool) {
	if text, ok = texts[Reason{v.Rule, v.Cause}]; !ok {
		text, ok = texts[Reason{v.Rule, CauseNone}]
	}
	if !ok || !strings.Contains(text, "{") {
		return text, ok
	}
	after, given, others := "", "", "another pod's anti-affinity"
	if v.Subject != "" {
		after, given = ": "+v.Subject, ", given the pods of "+v.Subject+" that run on new nodes"
		others = "the anti-affinity of " + v.Subject
	}
	return strings.NewReplacer(
		"{subject}", v.Subject, "{quoted subject}", strconv.Quote(v.Subject), "{: subject}", after, "{, given subject}", given,
		"{other anti-affinity}", others, "{key}", v.Key, "{pool}", "NodePool "+strconv.Quote(v.Key), "{resource}", string(v.Resource),
		"{amount}", units.Amount(v.Resource, v.By, units.Up), "{nodes}", units.Counted(int(v.By), "node"),
		"{period}", units.Period(time.Duration(v.By)),
	).Replace(text), true
}

// roughly prints an amount in the largest unit that is not above it, rounded down: 16Ti of memory, 9T cores.
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
