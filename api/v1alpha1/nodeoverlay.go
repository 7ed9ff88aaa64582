package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// NodeOverlay changes what the solver believes about some instance types.
//
// +kubebuilder:object:root=true
type NodeOverlay struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodeOverlaySpec   `json:"spec"`
	Status NodeOverlayStatus `json:"status,omitempty"`
}

// NodeOverlayList is a list of NodeOverlays.
//
// +kubebuilder:object:root=true
type NodeOverlayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeOverlay `json:"items"`
}

// NodeOverlaySpec says which offerings are meant and what changes.
type NodeOverlaySpec struct {
	Requirements    []NodeSelectorRequirement `json:"requirements"`
	PriceAdjustment *string                   `json:"priceAdjustment,omitempty"`
	Price           *string                   `json:"price,omitempty"`
	Capacity        corev1.ResourceList       `json:"capacity,omitempty"`
	Weight          *int32                    `json:"weight,omitempty"`
}

// NodeSelectorRequirement bounds the values of one label.
type NodeSelectorRequirement struct {
	Key      string                      `json:"key"`
	Operator corev1.NodeSelectorOperator `json:"operator"`
	Values   []string                    `json:"values,omitempty"`
}

// NodeOverlayStatus tells whether the overlay is in force.
type NodeOverlayStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionTypeReady is the root condition of an overlay.
const ConditionTypeReady = "Ready"

// ConditionTypeValidationSucceeded is the only dependent of the root.
const ConditionTypeValidationSucceeded = "ValidationSucceeded"

// Reasons of ValidationSucceeded=False.
const (
	// ReasonRuntimeValidation: the spec contradicts itself.
	ReasonRuntimeValidation = "RuntimeValidation"
	// ReasonConflict: another overlay of the same weight claims the same offering.
	ReasonConflict = "Conflict"
)

// GetConditions implements condition.Object.
func (o *NodeOverlay) GetConditions() []metav1.Condition { return o.Status.Conditions }

// SetConditions implements condition.Object.
func (o *NodeOverlay) SetConditions(c []metav1.Condition) { o.Status.Conditions = c }

// StatusConditions implements condition.Object.
func (o *NodeOverlay) StatusConditions() condition.Types {
	return condition.Types{
		Root:       ConditionTypeReady,
		Dependents: []string{ConditionTypeValidationSucceeded},
	}
}
