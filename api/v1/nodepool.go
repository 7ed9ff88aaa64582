package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// NodePool says which nodes Karpenter may make, and when it may take them away.
//
// +kubebuilder:object:root=true
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodePoolSpec   `json:"spec"`
	Status NodePoolStatus `json:"status,omitempty"`
}

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}

// NodePoolSpec is what the owner of a pool asks for.
type NodePoolSpec struct {
	Template   NodeClaimTemplate `json:"template"`
	Disruption Disruption        `json:"disruption,omitempty"`
	Limits     Limits            `json:"limits,omitempty"`
	Weight     *int32            `json:"weight,omitempty"`
	Replicas   *int64            `json:"replicas,omitempty"`
}

// Limits caps the resources of all nodes of a pool together.
type Limits corev1.ResourceList

// NodePoolStatus is what was seen of a pool.
type NodePoolStatus struct {
	Resources                   corev1.ResourceList `json:"resources,omitempty"`
	Nodes                       int64               `json:"nodes"`
	NodeClassObservedGeneration int64               `json:"nodeClassObservedGeneration,omitempty"`
	Conditions                  []metav1.Condition  `json:"conditions,omitempty"`
}

// GetConditions implements condition.Object.
func (p *NodePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions implements condition.Object.
func (p *NodePool) SetConditions(c []metav1.Condition) { p.Status.Conditions = c }

// StatusConditions implements condition.Object.
func (p *NodePool) StatusConditions() condition.Types {
	return condition.Types{
		Root:       ConditionTypeReady,
		Dependents: []string{ConditionTypeValidationSucceeded, ConditionTypeNodeClassReady},
	}
}
