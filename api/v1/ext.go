package v1

import corev1 "k8s.io/api/core/v1"

// ExtGroup is the domain of what goes beyond upstream's API. Upstream ignores it.
const ExtGroup = "ext." + Group

// Annotations of our own.
const (
	// ModeAnnotationKey (NodePool) says what becomes of decisions about the pool: Auto carries them out, DryRun tells
	// them and does nothing, Approve waits until each node that is to go, and those that are to come, are approved. Default:
	// the mode of the process.
	ModeAnnotationKey = ExtGroup + "/mode"
	// PauseAnnotationKey (NodePool): "true" stops voluntary disruption of the pool.
	PauseAnnotationKey = ExtGroup + "/pause"
	// ApprovedAnnotationKey (Node): "true" lets the node go in mode Approve.
	ApprovedAnnotationKey = ExtGroup + "/approved"
	// ApprovedNodesAnnotationKey (NodePool) is how many nodes the pool may have in mode Approve before one more is launched
	// for waiting pods. Default: 0. What is no number counts as 0.
	ApprovedNodesAnnotationKey = ExtGroup + "/approved-nodes"
	// MovePriceAnnotationKey (NodePool) is what moving one pod of ordinary importance is taken to cost, in dollars.
	// Default: 0.001.
	MovePriceAnnotationKey = ExtGroup + "/move-price"
	// PaybackAnnotationKey (NodePool) is how long a saving is counted on at most, a Go duration: a move must have paid
	// for itself by then. Default: 4h.
	PaybackAnnotationKey = ExtGroup + "/payback"
	// ReplacesAnnotationKey (NodeClaim) lists, by comma, the claims that go when this one is initialized.
	ReplacesAnnotationKey = ExtGroup + "/replaces"
	// ReplacedTypesAnnotationKey (NodeClaim) lists, by comma, the instance types with their capacity types of the
	// nodes that this one was launched to replace: type/capacity-type.
	ReplacedTypesAnnotationKey = ExtGroup + "/replaced-types"
	// ReplacedByAnnotationKey (NodeClaim) lists, by comma, the claims whose initialization the claim waits for before it
	// goes. Empty: it waits for none.
	ReplacedByAnnotationKey = ExtGroup + "/replaced-by"
	// TakesFromAnnotationKey (NodeClaim) lists, by comma, the claims on their way out whose pods its node has room for. It has
	// the taint ReservedTaintKey until its turn.
	TakesFromAnnotationKey = ExtGroup + "/takes-from"
	// TurnAnnotationKey (NodeClaim) is the place, from 1, of one of several replacements in the order in which they take the
	// pods of the nodes that go. Its node has the taint ReservedTaintKey from its initialization until its turn.
	TurnAnnotationKey = ExtGroup + "/turn"
	// NodeNameAnnotationKey (NodeClaim) is the name that the claim's node will have, where the cloud told it at launch.
	NodeNameAnnotationKey = ExtGroup + "/node-name"
	// PodsNominatedToAnnotationKey (NodeClaim) is the name of the node that has joined for the claim, once all pods planned onto the
	// claim are nominated to it. While it is empty the registration of the node waits. A claim without it waits for no nominations.
	PodsNominatedToAnnotationKey = ExtGroup + "/pods-nominated-to"
)

// ReservedTaintKey keeps pods off a node until it is its turn to take those of nodes that go.
const ReservedTaintKey = ExtGroup + "/reserved"

// ReservedNoScheduleTaint is the taint of a node whose turn has not come.
func ReservedNoScheduleTaint() corev1.Taint {
	return corev1.Taint{Key: ReservedTaintKey, Effect: corev1.TaintEffectNoSchedule}
}

// Modes of decisions.
const (
	ModeAuto    = "Auto"
	ModeDryRun  = "DryRun"
	ModeApprove = "Approve"
)
