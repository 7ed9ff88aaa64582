package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// NodePool says which nodes Karpenter may add to the cluster for pending pods,
// and when it may take them away again. A cluster usually has a few pools; a
// pod gets a node of the heaviest pool that suits it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodepools,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.nodes
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.template.spec.nodeClassRef.name",description="Node class the nodes are made with"
// +kubebuilder:printcolumn:name="Nodes",type="integer",JSONPath=".status.nodes",description="Nodes the pool has now"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the pool can make nodes"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the pool was made"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description="Heavier pools are tried first"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.resources.cpu",priority=1,description="CPU of all nodes of the pool"
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.resources.memory",priority=1,description="Memory of all nodes of the pool"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the pool should be.
	Spec NodePoolSpec `json:"spec"`
	// What Karpenter saw of the pool. Written by Karpenter only.
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

// NodePoolSpec is what the owner of a pool asks for.
//
// +kubebuilder:validation:XValidation:rule="has(self.replicas) == has(oldSelf.replicas)",message="spec.replicas can be neither added to nor removed from an existing pool: make a new pool to switch between static and dynamic",fieldPath=".replicas"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.limits) || self.limits.size() == 0 || (self.limits.size() == 1 && 'nodes' in self.limits)",message="spec.limits of a pool with replicas may only hold 'nodes'",fieldPath=".limits"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.weight)",message="spec.weight has no meaning in a pool with replicas: remove one of the two",fieldPath=".weight"
type NodePoolSpec struct {
	// What every node of the pool starts from. A change to it makes nodes that
	// exist drift: they are replaced as the disruption budgets allow. A change to
	// the requirements alone only touches the nodes that no longer meet them.
	Template NodeClaimTemplate `json:"template"`

	// When nodes may be taken away to save money or to follow a changed template.
	// Default: at once when empty or underutilized, at most 10% of the nodes at a
	// time.
	// +kubebuilder:default:={consolidateAfter: "0s"}
	// +optional
	Disruption Disruption `json:"disruption"`

	// Most resources that all nodes of the pool may have together, such as cpu,
	// memory or nvidia.com/gpu; 'nodes' bounds their number. When a limit is
	// reached the pool makes no more nodes. Default: no limit.
	// +optional
	Limits Limits `json:"limits,omitempty"`

	// Order in which pools are tried for a pod: the higher, the earlier. 1 to 100;
	// a pool without weight comes last.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Weight *int32 `json:"weight,omitempty"`

	// Keep exactly this many nodes, whatever pods there are. A pool with replicas
	// is static: it is neither grown for pods nor consolidated. Alpha; cannot be
	// added or removed later.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int64 `json:"replicas,omitempty"`
}

// Limits caps the resources of all nodes of a pool together.
type Limits corev1.ResourceList

// NodePoolStatus is what was seen of a pool.
type NodePoolStatus struct {
	// Resources of all nodes of the pool together; 'nodes' counts them.
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`

	// Number of nodes the pool has.
	// +kubebuilder:default:=0
	// +optional
	Nodes int64 `json:"nodes"`

	// Generation of the node class that was last compared with the pool's nodes.
	// +optional
	NodeClassObservedGeneration int64 `json:"nodeClassObservedGeneration,omitempty"`

	// Ready is True if ValidationSucceeded and NodeClassReady are.
	// NodeRegistrationHealthy is whether the latest nodes have registered.
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
