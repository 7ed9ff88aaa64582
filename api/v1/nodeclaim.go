package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// NodeClaim requests one node. Its status says how far that is: launched,
// registered, initialized, and at last drained and terminated. Karpenter makes
// node claims; people read and delete them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".metadata.labels.node\\.kubernetes\\.io/instance-type",description="Instance type"
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".metadata.labels.karpenter\\.sh/capacity-type",description="Capacity type: spot, on-demand or reserved"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".metadata.labels.topology\\.kubernetes\\.io/zone",description="Zone"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="Node of the claim"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether pods can run on the node"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the claim was made"
// +kubebuilder:printcolumn:name="ImageID",type="string",JSONPath=".status.imageID",priority=1,description="Machine image"
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.providerID",priority=1,description="Provider's name of the instance"
// +kubebuilder:printcolumn:name="NodePool",type="string",JSONPath=".metadata.labels.karpenter\\.sh/nodepool",priority=1,description="Pool of the claim"
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.nodeClassRef.name",priority=1,description="Node class of the claim"
// +kubebuilder:printcolumn:name="Drifted",type="string",JSONPath=".status.conditions[?(@.type==\"Drifted\")].status",priority=1,description="Whether the claim no longer is what its pool asks for"
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What node is asked for. It never changes.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec of a NodeClaim is immutable: delete the claim and let its pool make another"
	Spec NodeClaimSpec `json:"spec"`
	// How far the node has come. Written by Karpenter only.
	// +optional
	Status NodeClaimStatus `json:"status,omitempty"`
}

// NodeClaimList is a list of NodeClaims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeClaim `json:"items"`
}

// NodeClaimSpec is the node that is asked for.
type NodeClaimSpec struct {
	// Taints the node keeps.
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`

	// Taints the node starts with until something else takes them off.
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`

	// Bounds on the labels of the node. All of them must hold. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:XValidation:rule="!self.key.matches('^[^/]*karpenter[.]sh(/|$)') || self.key in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool']",message="a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type and karpenter.sh/nodepool",messageExpression="'requirement on ' + self.key + ': a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type and karpenter.sh/nodepool'",fieldPath=".key"
	// +listType=atomic
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements" hash:"ignore"`

	// Least resources the node must have.
	// +optional
	Resources ResourceRequirements `json:"resources,omitzero" hash:"ignore"`

	// Node class the node is made with.
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`

	// Longest time the node may take to drain, as a duration in h, m and s. After it
	// pods are deleted whatever their budgets and annotations say. Default: no end.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`

	// Age at which the node is replaced, as a duration in h, m and s, or Never.
	// Default: 720h (30 days).
	// +kubebuilder:default:="720h"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitempty"`
}

// ResourceRequirements is what the pods behind a claim need.
type ResourceRequirements struct {
	// Sum of the requests of the pods the node was made for, daemons included.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// NodeClaimStatus is what is known of the node.
type NodeClaimStatus struct {
	// Name of the Node object, once the node has joined.
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// Provider's name of the instance, as in spec.providerID of the Node.
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// Machine image the node was made from.
	// +optional
	ImageID string `json:"imageID,omitempty"`

	// Resources of the whole machine; estimated until the node says them itself.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// Resources left for pods; estimated until the node says them itself.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// Ready is True if Launched, Registered and Initialized are. Others are there
	// while they mean something: Consolidatable, Drifted, DisruptionReason,
	// Drained, VolumesDetached, InstanceTerminating, ConsistentStateFound.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Last time a pod was bound to the node, ended or left. consolidateAfter
	// counts from here.
	// +optional
	LastPodEventTime metav1.Time `json:"lastPodEventTime,omitzero"`
}

// GetConditions implements condition.Object.
func (c *NodeClaim) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements condition.Object.
func (c *NodeClaim) SetConditions(list []metav1.Condition) { c.Status.Conditions = list }

// StatusConditions implements condition.Object.
func (c *NodeClaim) StatusConditions() condition.Types {
	return condition.Types{
		Root: ConditionTypeReady,
		Dependents: []string{
			ConditionTypeLaunched, ConditionTypeRegistered, ConditionTypeInitialized,
		},
	}
}
