package v1

// ConditionTypeReady is the root condition of NodePools and NodeClaims.
const ConditionTypeReady = "Ready"

// Conditions of a NodePool.
const (
	// ConditionTypeValidationSucceeded (NodePool, NodeOverlay): the spec is valid.
	ConditionTypeValidationSucceeded = "ValidationSucceeded"
	// ConditionTypeNodeClassReady: the node class exists and is ready.
	ConditionTypeNodeClassReady = "NodeClassReady"
	// ConditionTypeNodeRegistrationHealthy: the last nodes of the pool have
	// joined. Ready does not depend on this condition.
	ConditionTypeNodeRegistrationHealthy = "NodeRegistrationHealthy"
)

// Conditions of a NodeClaim. Ready is True if Launched, Registered and Initialized are.
const (
	// ConditionTypeLaunched: the cloud accepted the instance.
	ConditionTypeLaunched = "Launched"
	// ConditionTypeRegistered: the node has joined and has the labels and taints of the claim.
	ConditionTypeRegistered = "Registered"
	// ConditionTypeInitialized: the node is ready, its extended resources are
	// registered, and its startup taints are removed.
	ConditionTypeInitialized = "Initialized"
	// ConditionTypeConsolidatable: consolidateAfter has passed, or counts as passed because of
	// ConsolidationRequestedAnnotationKey. Claims of static NodePools do not have it. The condition
	// is either True or absent.
	ConditionTypeConsolidatable = "Consolidatable"
	// ConditionTypeDrifted: the claim no longer matches its pool or class.
	ConditionTypeDrifted = "Drifted"
	// ConditionTypeDrained: no evictable pod is left on the node.
	ConditionTypeDrained = "Drained"
	// ConditionTypeVolumesDetached: all volumes that must be detached before the termination are detached.
	ConditionTypeVolumesDetached = "VolumesDetached"
	// ConditionTypeInstanceTerminating: the cloud accepted the deletion.
	ConditionTypeInstanceTerminating = "InstanceTerminating"
	// ConditionTypeConsistentStateFound: node and claim have consistent capacity.
	ConditionTypeConsistentStateFound = "ConsistentStateFound"
	// ConditionTypeDisruptionReason: the claim is to be disrupted. The reason of the condition is the reason of the
	// disruption.
	ConditionTypeDisruptionReason = "DisruptionReason"
	// ConditionTypeRebooting: repair reboots the node. Ready does not depend on this condition.
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
	// ReasonRebootRequested is the reason of Rebooting=True until the cloud accepts the reboot.
	ReasonRebootRequested = "RebootRequested"
	// ReasonRebootIssued is the reason of Rebooting=True from then on, until the node is ready again.
	ReasonRebootIssued = "RebootIssued"
	// ReasonRebootSucceeded and ReasonRebootFailed are the reasons of Rebooting=False.
	ReasonRebootSucceeded = "RebootSucceeded"
	ReasonRebootFailed    = "RebootFailed"
	// ReasonRebooting is the reason of Initialized=Unknown while the node boots again.
	ReasonRebooting = "Rebooting"
	// ReasonDraining is the reason of Drained=Unknown.
	ReasonDraining = "Draining"
	// ReasonAwaitingVolumeDetachment is the reason of VolumesDetached=Unknown.
	ReasonAwaitingVolumeDetachment = "AwaitingVolumeDetachment"
	// ReasonTerminationGracePeriodElapsed is the reason of VolumesDetached=False.
	ReasonTerminationGracePeriodElapsed = "TerminationGracePeriodElapsed"
	// ReasonConsistencyCheckFailed is the reason of ConsistentStateFound=False.
	ReasonConsistencyCheckFailed = "ConsistencyCheckFailed"
)
