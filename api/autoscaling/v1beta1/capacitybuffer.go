package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CapacityBuffer asks that room for some pods is kept free, so that they start
// at once when they come. Pods may take the room at any time; it is then made
// again.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=capacitybuffers,scope=Namespaced,categories=autoscaling,shortName=cb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Strategy",type="string",JSONPath=".status.provisioningStrategy",description="How the room is kept"
// +kubebuilder:printcolumn:name="PodTemplate",type="string",JSONPath=".status.podTemplateRef.name",description="Pod the room is for"
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="How many such pods"
// +kubebuilder:printcolumn:name="ConditionsType",type="string",JSONPath=".status.conditions[*].type",description="Conditions"
// +kubebuilder:printcolumn:name="ConditionsStatus",type="string",JSONPath=".status.conditions[*].status",description="Their status"
// +kubebuilder:printcolumn:name="ConditionsReason",type="string",JSONPath=".status.conditions[*].reason",description="Their reasons"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the buffer was made"
type CapacityBuffer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Room for which pods, and for how many.
	Spec CapacityBufferSpec `json:"spec"`
	// What became of the request. Written by the autoscaler only.
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

// CapacityBufferSpec says room for which pods, and how many of them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",message="spec.podTemplateRef needs spec.replicas or spec.limits to say how many pods"
// +kubebuilder:validation:XValidation:rule="!has(self.podTemplateRef) || !has(self.scalableRef)",message="set only one of spec.podTemplateRef and spec.scalableRef"
type CapacityBufferSpec struct {
	// How the room is kept. The default strategy keeps real nodes for it. Default:
	// buffer.x-k8s.io/active-capacity.
	// +kubebuilder:default:="buffer.x-k8s.io/active-capacity"
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`

	// PodTemplate in the same namespace that describes the pods. Needs replicas or
	// limits; excludes scalableRef.
	// +optional
	PodTemplateRef *LocalObjectRef `json:"podTemplateRef,omitempty"`

	// Object in the same namespace, such as a Deployment, whose pods are meant.
	// Excludes podTemplateRef.
	// +optional
	ScalableRef *ScalableRef `json:"scalableRef,omitempty"`

	// Room for this many pods.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Room for this part, in percent, of the pods the scalableRef has now. With
	// replicas too, the larger number counts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Percentage *int32 `json:"percentage,omitempty"`

	// Most resources the room may take, all pods of the buffer together. Alone, the
	// room is for as many pods as fit in it.
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

// CapacityBufferStatus is what became of the request.
type CapacityBufferStatus struct {
	// PodTemplate that describes the pods, given or made from the scalableRef.
	// +optional
	PodTemplateRef *LocalObjectRef `json:"podTemplateRef,omitempty"`

	// How many pods there is or will be room for.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Generation of the PodTemplate this status was made from.
	// +optional
	PodTemplateGeneration *int64 `json:"podTemplateGeneration,omitempty"`

	// ReadyForProvisioning: pods and their number are known. Provisioning: the
	// room is there.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Strategy in force.
	// +optional
	ProvisioningStrategy *string `json:"provisioningStrategy,omitempty"`
}
