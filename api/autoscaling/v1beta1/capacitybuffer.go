package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CapacityBuffer reserves capacity for pods, so that they start immediately when
// they are created. Pods can use the capacity at any time; it is then
// replenished.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=capacitybuffers,scope=Namespaced,categories=autoscaling,shortName=cb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Strategy",type="string",JSONPath=".status.provisioningStrategy",description="Strategy of provisioning"
// +kubebuilder:printcolumn:name="PodTemplate",type="string",JSONPath=".status.podTemplateRef.name",description="PodTemplate of the pods"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="Number of pods"
// +kubebuilder:printcolumn:name="ConditionsType",type="string",JSONPath=".status.conditions[*].type",description="Conditions"
// +kubebuilder:printcolumn:name="ConditionsStatus",type="string",JSONPath=".status.conditions[*].status",description="Their status"
// +kubebuilder:printcolumn:name="ConditionsReason",type="string",JSONPath=".status.conditions[*].reason",description="Their reasons"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type CapacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Pods to reserve capacity for, and how many.
	Spec CapacityBufferSpec `json:"spec"`
	// Observed state of the CapacityBuffer. Written by the autoscaler only.
	// +optional
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

// CapacityBufferSpec defines for which pods capacity is reserved, and for how many.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",message="spec.podTemplateRef needs spec.replicas or spec.limits to say how many pods"
// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || !has(self.scalableRef)",message="set only one of spec.podTemplateRef and spec.scalableRef"
type CapacityBufferSpec struct {
	// Strategy of provisioning. The default strategy launches nodes for the capacity.
	// Default: buffer.x-k8s.io/active-capacity.
	// +kubebuilder:default:="buffer.x-k8s.io/active-capacity"
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`

	// PodTemplate of the pods, in the same namespace. Needs replicas or limits;
	// mutually exclusive with scalableRef.
	// +optional
	PodTemplateRef *LocalObjectRef `json:"podTemplateRef,omitempty"`

	// Object of the pods, such as a Deployment, in the same namespace. Mutually
	// exclusive with podTemplateRef.
	// +optional
	ScalableRef *ScalableRef `json:"scalableRef,omitempty"`

	// Number of pods to reserve capacity for.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Number of pods to reserve capacity for, as a percentage of the current pods of
	// the scalableRef. If replicas is set too, the larger number applies.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Percentage *int32 `json:"percentage,omitempty"`

	// Maximum resources of all buffer pods together. Without replicas and percentage,
	// capacity is reserved for as many pods as fit.
	// +optional
	Limits *corev1.ResourceList `json:"limits,omitempty"`
}

// LocalObjectRef names an object in the namespace of the buffer.
type LocalObjectRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// ScalableRef names an object with a scale subresource.
type ScalableRef struct {
	// API group without version, such as apps. Empty for the core group.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`
	// Kind, such as Deployment.
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// CapacityBufferStatus is the observed state of a CapacityBuffer.
type CapacityBufferStatus struct {
	// PodTemplate of the pods, given or derived from the scalableRef.
	// +optional
	PodTemplateRef *LocalObjectRef `json:"podTemplateRef,omitempty"`

	// Number of pods that capacity is reserved for.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Generation of the PodTemplate that this status was derived from.
	// +optional
	PodTemplateGeneration *int64 `json:"podTemplateGeneration,omitempty"`

	// Conditions of the CapacityBuffer. ReadyForProvisioning: the pods and their
	// number are known. Provisioning: the capacity is available.
	// LimitedByQuotas: a quota reduced the number of pods.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Strategy that is applied.
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
}
