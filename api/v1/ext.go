package v1

import corev1 "k8s.io/api/core/v1"

// ExtGroup is the domain of annotations, labels, taints and API groups that upstream Karpenter does not have. Upstream
// ignores them.
const ExtGroup = "ext." + Group

// Annotations that upstream Karpenter does not have. The kinds of the annotated objects are in parentheses.
const (
	// EnforcementModeAnnotationKey (NodePool) is the mode of decisions about the pool. Auto: they are carried out.
	// DryRun: they are only reported. Approve: they are carried out after the nodes to remove and the nodes to launch
	// are approved. Default: the mode of the process.
	EnforcementModeAnnotationKey = ExtGroup + "/enforcement-mode"
	// DisruptionPausedAnnotationKey (NodePool): "true" stops voluntary disruption of the pool.
	DisruptionPausedAnnotationKey = ExtGroup + "/disruption-paused"
	// DisruptionApprovedAnnotationKey (Node): "true" approves the disruption of the node in mode Approve.
	DisruptionApprovedAnnotationKey = ExtGroup + "/disruption-approved"
	// DisruptionRequestedAnnotationKey (NodeClaim): any value makes the claim drifted, so that its node is replaced within the
	// disruption budgets. karpenter disrupt node sets it to the time of the request.
	DisruptionRequestedAnnotationKey = ExtGroup + "/disruption-requested"
	// ConsolidationRequestedAnnotationKey (NodePool) is a time (RFC 3339). For nodes whose last pod event was before it,
	// consolidateAfter counts as elapsed. karpenter consolidate now sets it.
	ConsolidationRequestedAnnotationKey = ExtGroup + "/consolidation-requested"
	// MaxApprovedNodesAnnotationKey (NodePool) is how many nodes the pool may have in mode Approve before one more is
	// launched for waiting pods. Default: 0. A value that is not a number counts as 0.
	MaxApprovedNodesAnnotationKey = ExtGroup + "/max-approved-nodes"
	// EvictionCostAnnotationKey (NodePool) is the assumed cost in dollars of moving one pod whose eviction cost is 1.
	// Default: 0.001.
	EvictionCostAnnotationKey = ExtGroup + "/eviction-cost"
	// PaybackPeriodAnnotationKey (NodePool) is the longest time for which the saving of a move is counted, a Go
	// duration. Within this time, the saving must exceed the cost of the move. Default: 4h.
	PaybackPeriodAnnotationKey = ExtGroup + "/payback-period"
	// ReplacesAnnotationKey (NodeClaim) lists, separated by commas, the claims that are deleted when this claim is
	// initialized.
	ReplacesAnnotationKey = ExtGroup + "/replaces"
	// ReplacedTypesAnnotationKey (NodeClaim) lists, separated by commas, the nodes that this claim was launched to
	// replace, each as instance-type/capacity-type.
	ReplacedTypesAnnotationKey = ExtGroup + "/replaced-types"
	// ReplacedByAnnotationKey (NodeClaim) lists, separated by commas, the claims that must be initialized before this
	// claim is deleted. If it is empty, there are none.
	ReplacedByAnnotationKey = ExtGroup + "/replaced-by"
	// DisruptionBegunAnnotationKey (NodeClaim) is when this controller began to disrupt the node (RFC 3339). It equals the last
	// transition of the condition DisruptionReason. If the two differ, another controller set the condition.
	DisruptionBegunAnnotationKey = ExtGroup + "/disruption-begun"
	// TerminateFirstAnnotationKey (NodeClaim) is why the claim is deleted before capacity for its pods is launched:
	// no-reserved-capacity or static-at-limit. It is set while the claim is disrupted.
	TerminateFirstAnnotationKey = ExtGroup + "/terminate-first"
	// WrittenDeletionCostAnnotationKey (Pod) is the value of controller.kubernetes.io/pod-deletion-cost that the
	// controller has written. If pod-deletion-cost has another value, a user has set that value.
	WrittenDeletionCostAnnotationKey = ExtGroup + "/written-pod-deletion-cost"
	// ReceivesPodsFromAnnotationKey (NodeClaim) lists, separated by commas, the claims that are being removed and for
	// whose pods the node of this claim has capacity. The node has the taint StagedMoveTaintKey until its stage of the
	// move begins.
	ReceivesPodsFromAnnotationKey = ExtGroup + "/receives-pods-from"
	// MoveStageAnnotationKey (NodeClaim) is the number, from 1, of the stage of a staged move in which the node of the
	// claim becomes the target of evicted pods. The node has the taint StagedMoveTaintKey from its initialization until
	// that stage begins.
	MoveStageAnnotationKey = ExtGroup + "/move-stage"
	// NodeNameAnnotationKey (NodeClaim) is the name that the claim's node will have. It is set if the cloud returned
	// the name at launch.
	NodeNameAnnotationKey = ExtGroup + "/node-name"
	// PodsNominatedToAnnotationKey (NodeClaim) is the name of the node that has joined for the claim, once all pods
	// planned onto the claim are nominated to it. While the value is empty, the node is not registered. A claim without
	// the annotation waits for no nominations.
	PodsNominatedToAnnotationKey = ExtGroup + "/pods-nominated-to"
	// RepairHistoryAnnotationKey (NodeClaim) lists, separated by commas, the repairs of the last 24 hours:
	// RebootNode@time or ReplaceNode@time (RFC 3339).
	RepairHistoryAnnotationKey = ExtGroup + "/repair-history"
	// RepairConditionAnnotationKey (NodeClaim) is the type of the node condition because of which the node is being repaired.
	RepairConditionAnnotationKey = ExtGroup + "/repair-condition"
	// RepairTerminationGracePeriodAnnotationKey (NodeClaim) bounds the drain of a node that is replaced by repair, a Go duration
	// from the deletion of the claim. Absent: terminationGracePeriod of the claim alone applies.
	RepairTerminationGracePeriodAnnotationKey = ExtGroup + "/repair-termination-grace-period"
	// RepairAttemptAnnotationKey (NodeClaim) is set if repair launched the claim. It counts such claims in a row. The
	// value is one more than that of the replaced claim if repair launched the replaced claim less than 24 hours
	// before, else 1.
	RepairAttemptAnnotationKey = ExtGroup + "/repair-attempt"
	// UnhealthySinceAnnotationKey (NodeClaim) lists, separated by commas, the conditions of the
	// node that a repair policy matches, or matched until less than five minutes ago, as
	// type=status@time (RFC 3339). The time is kept if the condition is healthy for less than five
	// minutes in between. Then the last transition of the condition follows: type=status@time/time.
	UnhealthySinceAnnotationKey = ExtGroup + "/unhealthy-since"
	// RebootCalledAnnotationKey (NodeClaim) is when the cloud was first asked to reboot the instance (RFC 3339).
	RebootCalledAnnotationKey = ExtGroup + "/reboot-called"
	// AllowMassTerminationAnnotationKey (node class): "true" removes the bound on how many of its instances one pass of a
	// controller terminates because they have no NodeClaim, or because the cloud reports them as unhealthy.
	AllowMassTerminationAnnotationKey = ExtGroup + "/allow-mass-termination"
)

// StagedMoveTaintKey is the key of the taint that excludes pods from a target node of a staged move until its stage
// begins.
const StagedMoveTaintKey = ExtGroup + "/staged-move"

// StagedMoveNoScheduleTaint is the taint of a target node whose stage has not begun.
func StagedMoveNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: StagedMoveTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// Modes of decisions.
const (
	ModeAuto    = "Auto"
	ModeDryRun  = "DryRun"
	ModeApprove = "Approve"
)
