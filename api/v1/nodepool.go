package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// NodePool configures which nodes Karpenter may launch for pending pods, and when
// it may disrupt them. A pod uses the compatible NodePool with the highest
// weight.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.template.spec.nodeClassRef.name",description="Node class of the nodes"
// +kubebuilder:printcolumn:name="Nodes",type="integer",JSONPath=".status.nodes",description="Number of nodes"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="True if the NodePool can launch nodes"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description="Priority; the highest applies"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.resources.cpu",priority=1,description="CPU of all nodes"
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.resources.memory",priority=1,description="Memory of all nodes"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state of the NodePool.
	Spec NodePoolSpec `json:"spec"`
	// Observed state of the NodePool. Written by Karpenter only.
	// +optional
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

// NodePoolSpec is the desired state of a NodePool.
//
// +kubebuilder:validation:XValidation:rule="has(self.replicas) == has(oldSelf.replicas)",message="spec.replicas can be neither added to nor removed from an existing pool: make a new pool to switch between static and dynamic",fieldPath=".replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.limits) || self.limits.size() == 0 || (self.limits.size() == 1 && 'nodes' in self.limits)",message="spec.limits of a pool with replicas may only hold 'nodes'",fieldPath=".limits"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.weight)",message="spec.weight has no meaning in a pool with replicas: remove one of the two",fieldPath=".weight"
type NodePoolSpec struct {
	// Template of the NodeClaims. Changes cause existing nodes to drift and be
	// replaced within the disruption budgets. A change of the requirements alone
	// affects only nodes that no longer meet them.
	Template NodeClaimTemplate `json:"template"`

	// Conditions under which nodes are disrupted to reduce cost or to follow a
	// changed template. Default: immediately when empty or underutilized, at most 10%
	// of the nodes at the same time.
	// +kubebuilder:default:={consolidateAfter: "0s"}
	// +optional
	Disruption Disruption `json:"disruption"`

	// Maximum resources of all nodes of the NodePool together, such as cpu, memory or
	// nvidia.com/gpu; 'nodes' limits their number. No nodes are launched beyond a
	// limit. Default: unlimited.
	// +optional
	Limits Limits `json:"limits,omitempty"`

	// Priority of the NodePool: pods use the compatible NodePool with the highest
	// weight. 1 to 100. Default: 0, the lowest priority.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`

	// Fixed number of nodes, independent of pods. A NodePool with replicas is static:
	// no nodes are launched for pending pods, and none are consolidated. Alpha: needs
	// feature gate StaticCapacity; cannot be added or removed later.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// Limits caps the resources of all nodes of a pool together.
type Limits corev1.ResourceList

// NodePoolStatus is the observed state of a NodePool.
type NodePoolStatus struct {
	// Resources of all nodes of the NodePool together; 'nodes' is their number.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`

	// Number of nodes of the NodePool.
	// +kubebuilder:default:=0
	// +optional
	Nodes int64 `json:"nodes"`

	// Generation of the node class for which the condition NodeRegistrationHealthy
	// holds. A change of the node class resets the condition.
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`

	// Conditions of the NodePool. Ready is True if ValidationSucceeded and
	// NodeClassReady are. NodeRegistrationHealthy is False if recent nodes did not
	// register.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
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
