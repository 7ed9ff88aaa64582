package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// NodeClaim requests one node. Its status shows the progress: launched,
// registered, initialized, and finally drained and terminated. Created by
// Karpenter; do not create by hand.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeclaims,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type="string",JSONPath=".metadata.labels.node\\.kubernetes\\.io/instance-type",description="Instance type"
// +kubebuilder:printcolumn:name="Capacity",type="string",JSONPath=".metadata.labels.karpenter\\.sh/capacity-type",description="Capacity type: spot, on-demand or reserved"
// +kubebuilder:printcolumn:name="Zone",type="string",JSONPath=".metadata.labels.topology\\.kubernetes\\.io/zone",description="Zone"
// +kubebuilder:printcolumn:name="Node",type="string",JSONPath=".status.nodeName",description="Node of the NodeClaim"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="True if pods can run on the node"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="ImageID",type="string",JSONPath=".status.imageID",priority=1,description="Machine image"
// +kubebuilder:printcolumn:name="ID",type="string",JSONPath=".status.providerID",priority=1,description="Provider ID of the instance"
// +kubebuilder:printcolumn:name="NodePool",type="string",JSONPath=".metadata.labels.karpenter\\.sh/nodepool",priority=1,description="NodePool of the NodeClaim"
// +kubebuilder:printcolumn:name="NodeClass",type="string",JSONPath=".spec.nodeClassRef.name",priority=1,description="Node class of the NodeClaim"
// +kubebuilder:printcolumn:name="Drifted",type="string",JSONPath=".status.conditions[?(@.type==\"Drifted\")].status",priority=1,description="True if the NodeClaim differs from its NodePool or node class"
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Requested node. Immutable.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec of a NodeClaim is immutable: delete the claim and let its pool make another"
	Spec NodeClaimSpec `json:"spec"`
	// Observed state of the node. Written by Karpenter only.
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

// NodeClaimSpec describes the requested node.
type NodeClaimSpec struct {
	// Taints applied to the node.
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`

	// Taints applied at startup and removed by another component.
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`

	// Requirements on the labels of the node. All of them must be met. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:XValidation:rule="!self.key.matches('^[^/]*karpenter[.]sh(/|$)') || self.key in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool']",message="a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type and karpenter.sh/nodepool",messageExpression="'requirement on ' + self.key + ': a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type and karpenter.sh/nodepool'",fieldPath=".key"
	// +listType=atomic
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements" hash:"ignore"`

	// Minimum resources of the node.
	// +optional
	Resources ResourceRequirements `json:"resources,omitzero" hash:"ignore"`

	// Reference to the node class of the node.
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`

	// Maximum duration of the drain, in h, m and s. Afterwards pods are deleted
	// regardless of PodDisruptionBudgets and do-not-disrupt annotations. Default:
	// unlimited (drain waits for every pod).
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	TerminationGracePeriod *Duration `json:"terminationGracePeriod,omitempty"`

	// Age at which the node is replaced, as a duration in h, m and s, or Never.
	// Default: 720h (30 days).
	// +kubebuilder:default:="720h"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitempty"`
}

// ResourceRequirements are the resources that the pods planned for a claim request.
type ResourceRequirements struct {
	// Sum of the requests of the pods that the node was launched for, DaemonSet pods
	// included.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// NodeClaimStatus is the observed state of the node.
type NodeClaimStatus struct {
	// Name of the Node, once it has registered.
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// Provider ID of the instance, as in spec.providerID of the Node.
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// Machine image of the node.
	// +optional
	ImageID string `json:"imageID,omitempty"`

	// Capacity of the node; estimated until the Node reports it.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// Resources that pods can use; estimated until the Node reports them.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// Conditions of the NodeClaim. Ready is True if Launched, Registered and
	// Initialized are. Others are present while they apply: Consolidatable, Drifted,
	// DisruptionReason, Rebooting, Drained, VolumesDetached, InstanceTerminating,
	// ConsistentStateFound, NodeJoinDelayed.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Last time a pod was bound to the node, finished, or began to terminate. Pods of
	// DaemonSets do not count. consolidateAfter is measured from this time, or from
	// the initialization of a node without such an event.
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
