package v1

// ConditionTypeReady is the root condition of every kind.
const ConditionTypeReady = "Ready"

// Conditions of a NodePool.
const (
	// ConditionTypeValidationSucceeded (NodePool, NodeOverlay): the spec holds.
	ConditionTypeValidationSucceeded = "ValidationSucceeded"
	// ConditionTypeNodeClassReady: the node class exists and is ready.
	ConditionTypeNodeClassReady = "NodeClassReady"
	// ConditionTypeNodeRegistrationHealthy: the last nodes of the pool did join.
	// Independent: it never makes a pool unready.
	ConditionTypeNodeRegistrationHealthy = "NodeRegistrationHealthy"
)

// Conditions of a NodeClaim. The first three decide Ready.
const (
	// ConditionTypeLaunched: the cloud accepted the instance.
	ConditionTypeLaunched = "Launched"
	// ConditionTypeRegistered: its node joined, with labels and taints in place.
	ConditionTypeRegistered = "Registered"
	// ConditionTypeInitialized: the node is ready, its resources are there and
	// its startup taints are gone.
	ConditionTypeInitialized = "Initialized"
	// ConditionTypeConsolidatable: consolidateAfter has passed (present: True).
	ConditionTypeConsolidatable = "Consolidatable"
	// ConditionTypeDrifted: the claim no longer matches its pool or class.
	ConditionTypeDrifted = "Drifted"
	// ConditionTypeDrained: no evictable pod is left on the node.
	ConditionTypeDrained = "Drained"
	// ConditionTypeVolumesDetached: no volume that should leave is attached.
	ConditionTypeVolumesDetached = "VolumesDetached"
	// ConditionTypeInstanceTerminating: the cloud accepted the deletion.
	ConditionTypeInstanceTerminating = "InstanceTerminating"
	// ConditionTypeConsistentStateFound: node and claim have consistent capacity.
	ConditionTypeConsistentStateFound = "ConsistentStateFound"
	// ConditionTypeDisruptionReason: the claim waits to be disrupted, and why.
	ConditionTypeDisruptionReason = "DisruptionReason"
	// ConditionTypeRebooting: repair reboots the node. It does not count for Ready.
	ConditionTypeRebooting = "Rebooting"
)

// Reasons of NodePool conditions.
const (
	ReasonNodePoolValidationFailed  = "NodePoolValidationFailed"
	ReasonNodeClassNotFound         = "NodeClassNotFound"
	ReasonNodeClassTerminating      = "NodeClassTerminating"
	ReasonNodeClassReadinessUnknown = "NodeClassReadinessUnknown"
	ReasonRegistrationFailed        = "RegistrationFailed"
)

// Reasons of NodeClaim conditions.
const (
	// ReasonRebootRequested: of Rebooting, True, until the cloud accepts the reboot.
	ReasonRebootRequested = "RebootRequested"
	// ReasonRebootIssued: of Rebooting, True, until the node is ready again.
	ReasonRebootIssued = "RebootIssued"
	// ReasonRebootSucceeded and ReasonRebootFailed: of Rebooting, False.
	ReasonRebootSucceeded = "RebootSucceeded"
	ReasonRebootFailed    = "RebootFailed"
	// ReasonRebooting: of Initialized, Unknown, while the node boots again.
	ReasonRebooting = "Rebooting"
	// ReasonDraining: of Drained, while Unknown.
	ReasonDraining = "Draining"
	// ReasonAwaitingVolumeDetachment: of VolumesDetached, while Unknown.
	ReasonAwaitingVolumeDetachment = "AwaitingVolumeDetachment"
	// ReasonTerminationGracePeriodElapsed: of VolumesDetached, False.
	ReasonTerminationGracePeriodElapsed = "TerminationGracePeriodElapsed"
	// ReasonConsistencyCheckFailed: of ConsistentStateFound, False.
	ReasonConsistencyCheckFailed = "ConsistencyCheckFailed"
)
