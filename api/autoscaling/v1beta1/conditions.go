package v1beta1

// ActiveCapacityStrategy is the provisioning strategy that launches nodes.
const ActiveCapacityStrategy = "buffer.x-k8s.io/active-capacity"

// Conditions of a CapacityBuffer. There is no condition Ready that summarizes the others.
const (
	// ConditionTypeReadyForProvisioning: the pod template and the number of pods are known.
	ConditionTypeReadyForProvisioning = "ReadyForProvisioning"
	// ConditionTypeProvisioning: the capacity is available.
	ConditionTypeProvisioning = "Provisioning"
	// ConditionTypeLimitedByQuotas: a quota reduced the number of pods.
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
