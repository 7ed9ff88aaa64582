package v1beta1

// ActiveCapacityStrategy is the provisioning strategy that makes real nodes.
const ActiveCapacityStrategy = "buffer.x-k8s.io/active-capacity"

// Conditions of a CapacityBuffer. None of them sums up the others.
const (
	// ConditionTypeReadyForProvisioning: pod template and count are known.
	ConditionTypeReadyForProvisioning = "ReadyForProvisioning"
	// ConditionTypeProvisioning: the room is there.
	ConditionTypeProvisioning = "Provisioning"
	// ConditionTypeLimitedByQuotas: a quota cut the count.
	ConditionTypeLimitedByQuotas = "LimitedByQuotas"
)

// Reasons of the conditions.
const (
	ReasonResolved                = "Resolved"
	ReasonScalableRefNotFound     = "ScalableRefNotFound"
	ReasonPodTemplateNotFound     = "PodTemplateNotFound"
	ReasonResolutionFailed        = "ResolutionFailed"
	ReasonFitsExistingCapacity    = "FitsExistingCapacity"
	ReasonRequiresNewCapacity     = "RequiresNewCapacity"
	ReasonNotReadyForProvisioning = "NotReadyForProvisioning"
	ReasonBufferEmpty             = "BufferEmpty"
	ReasonLimitedByQuotas         = "LimitedByQuotas"
	ReasonWithinQuotas            = "WithinQuotas"
)
