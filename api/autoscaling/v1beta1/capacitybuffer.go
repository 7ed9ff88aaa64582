package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CapacityBuffer asks that room for some pods is kept free.
//
// +kubebuilder:object:root=true
type CapacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CapacityBufferSpec   `json:"spec"`
	Status CapacityBufferStatus `json:"status,omitempty"`
}

// CapacityBufferList is a list of CapacityBuffers.
//
// +kubebuilder:object:root=true
type CapacityBufferList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CapacityBuffer `json:"items"`
}

// CapacityBufferSpec says room for which pods, and how many of them.
type CapacityBufferSpec struct {
	ProvisioningStrategy *string              `json:"provisioningStrategy,omitempty"`
	PodTemplateRef       *LocalObjectRef      `json:"podTemplateRef,omitempty"`
	ScalableRef          *ScalableRef         `json:"scalableRef,omitempty"`
	Replicas             *int32               `json:"replicas,omitempty"`
	Percentage           *int32               `json:"percentage,omitempty"`
	Limits               *corev1.ResourceList `json:"limits,omitempty"`
}

// LocalObjectRef names an object in the namespace of the buffer.
type LocalObjectRef struct {
	Name string `json:"name"`
}

// ScalableRef names an object with a scale subresource.
type ScalableRef struct {
	APIGroup string `json:"apiGroup,omitempty"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

// CapacityBufferStatus is what became of the request.
type CapacityBufferStatus struct {
	PodTemplateRef        *LocalObjectRef    `json:"podTemplateRef,omitempty"`
	Replicas              *int32             `json:"replicas,omitempty"`
	PodTemplateGeneration *int64             `json:"podTemplateGeneration,omitempty"`
	Conditions            []metav1.Condition `json:"conditions,omitempty"`
	ProvisioningStrategy  *string            `json:"provisioningStrategy,omitempty"`
}

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
)
