package v1

import corev1 "k8s.io/api/core/v1"

// ExtGroup is the domain of what goes beyond upstream's API. Upstream ignores it.
const ExtGroup = "ext." + Group

// Annotations of our own.
const (
	// EnforcementModeAnnotationKey (NodePool) says what becomes of decisions about the pool: Auto carries them out, DryRun tells
	// them and does nothing, Approve waits until each node that is to go, and those that are to come, are approved. Default:
	// the mode of the process.
	EnforcementModeAnnotationKey = ExtGroup + "/enforcement-mode"
	// DisruptionPausedAnnotationKey (NodePool): "true" stops voluntary disruption of the pool.
	DisruptionPausedAnnotationKey = ExtGroup + "/disruption-paused"
	// DisruptionApprovedAnnotationKey (Node): "true" lets the node go in mode Approve.
	DisruptionApprovedAnnotationKey = ExtGroup + "/disruption-approved"
	// DisruptionRequestedAnnotationKey (NodeClaim): any value makes the claim drifted, so that its node is replaced within the
	// disruption budgets. karpenter disrupt node sets it to the time of the request.
	DisruptionRequestedAnnotationKey = ExtGroup + "/disruption-requested"
	// ConsolidationRequestedAnnotationKey (NodePool) is a time (RFC 3339). For nodes whose last pod event was before it,
	// consolidateAfter counts as elapsed. karpenter consolidate now sets it.
	ConsolidationRequestedAnnotationKey = ExtGroup + "/consolidation-requested"
	// MaxApprovedNodesAnnotationKey (NodePool) is how many nodes the pool may have in mode Approve before one more is launched
	// for waiting pods. Default: 0. What is no number counts as 0.
	MaxApprovedNodesAnnotationKey = ExtGroup + "/max-approved-nodes"
	// EvictionCostAnnotationKey (NodePool) is what moving one pod of ordinary importance is taken to cost, in dollars.
	// Default: 0.001.
	EvictionCostAnnotationKey = ExtGroup + "/eviction-cost"
	// PaybackPeriodAnnotationKey (NodePool) is how long a saving is counted on at most, a Go duration: a move must have paid
	// for itself by then. Default: 4h.
	PaybackPeriodAnnotationKey = ExtGroup + "/payback-period"
	// ReplacesAnnotationKey (NodeClaim) lists, by comma, the claims that go when this one is initialized.
	ReplacesAnnotationKey = ExtGroup + "/replaces"
	// ReplacedTypesAnnotationKey (NodeClaim) lists, by comma, the instance types with their capacity types of the
	// nodes that this one was launched to replace: type/capacity-type.
	ReplacedTypesAnnotationKey = ExtGroup + "/replaced-types"
	// ReplacedByAnnotationKey (NodeClaim) lists, by comma, the claims whose initialization the claim waits for before it
	// goes. Empty: it waits for none.
	ReplacedByAnnotationKey = ExtGroup + "/replaced-by"
	// DisruptionBegunAnnotationKey (NodeClaim) is when this controller began to disrupt the node (RFC 3339). It equals the last
	// transition of the condition DisruptionReason. If the two differ, another controller set the condition.
	DisruptionBegunAnnotationKey = ExtGroup + "/disruption-begun"
	// TerminateFirstAnnotationKey (NodeClaim) is why the claim is deleted before capacity for its pods is launched:
	// no-reserved-capacity or static-at-limit. It is set while the claim is disrupted.
	TerminateFirstAnnotationKey = ExtGroup + "/terminate-first"
	// WrittenDeletionCostAnnotationKey (Pod) is the value of controller.kubernetes.io/pod-deletion-cost that the controller has
	// written. If the two differ, the value is the user's.
	WrittenDeletionCostAnnotationKey = ExtGroup + "/written-pod-deletion-cost"
	// ReceivesPodsFromAnnotationKey (NodeClaim) lists, by comma, the claims on their way out whose pods its node has room for. It has
	// the taint StagedMoveTaintKey until its turn.
	ReceivesPodsFromAnnotationKey = ExtGroup + "/receives-pods-from"
	// MoveStageAnnotationKey (NodeClaim) is the place, from 1, of one of several replacements in the order in which they take the
	// pods of the nodes that go. Its node has the taint StagedMoveTaintKey from its initialization until its turn.
	MoveStageAnnotationKey = ExtGroup + "/move-stage"
	// NodeNameAnnotationKey (NodeClaim) is the name that the claim's node will have, where the cloud told it at launch.
	NodeNameAnnotationKey = ExtGroup + "/node-name"
	// PodsNominatedToAnnotationKey (NodeClaim) is the name of the node that has joined for the claim, once all pods planned onto the
	// claim are nominated to it. While it is empty the registration of the node waits. A claim without it waits for no nominations.
	PodsNominatedToAnnotationKey = ExtGroup + "/pods-nominated-to"
	// RepairHistoryAnnotationKey (NodeClaim) lists, by comma, the repairs of the last 24 hours: RebootNode@time or
	// ReplaceNode@time (RFC 3339).
	RepairHistoryAnnotationKey = ExtGroup + "/repair-history"
	// RepairConditionAnnotationKey (NodeClaim) is the type of the node condition because of which the node is being repaired.
	RepairConditionAnnotationKey = ExtGroup + "/repair-condition"
	// RepairTerminationGracePeriodAnnotationKey (NodeClaim) bounds the drain of a node that is replaced by repair, a Go duration
	// from the deletion of the claim. Absent: terminationGracePeriod of the claim alone applies.
	RepairTerminationGracePeriodAnnotationKey = ExtGroup + "/repair-termination-grace-period"
	// RepairAttemptAnnotationKey (NodeClaim) says that repair launched the claim, and as which one in a row: 1, or one more than
	// the claim that it replaces if that was itself launched by repair less than 24 hours before.
	RepairAttemptAnnotationKey = ExtGroup + "/repair-attempt"
	// UnhealthySinceAnnotationKey (NodeClaim) lists, by comma, the conditions of the node that a repair policy matches, as
	// type=status@time (RFC 3339). It keeps the time when a condition is healthy for less than five minutes.
	UnhealthySinceAnnotationKey = ExtGroup + "/unhealthy-since"
	// RebootCalledAnnotationKey (NodeClaim) is when the cloud was first asked to reboot the instance (RFC 3339).
	RebootCalledAnnotationKey = ExtGroup + "/reboot-called"
)

// StagedMoveTaintKey keeps pods off a node until it is its turn to take those of nodes that go.
const StagedMoveTaintKey = ExtGroup + "/staged-move"

// StagedMoveNoScheduleTaint is the taint of a node whose turn has not come.
func StagedMoveNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: StagedMoveTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// Modes of decisions.
const (
	ModeAuto    = "Auto"
	ModeDryRun  = "DryRun"
	ModeApprove = "Approve"
)
