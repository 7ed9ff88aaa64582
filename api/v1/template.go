package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeClaimTemplate is what every claim of a pool starts from.
type NodeClaimTemplate struct {
	// Labels and annotations of the nodes.
	// +optional
	ObjectMeta `json:"metadata,omitzero"`
	// Spec of the node claims.
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// ObjectMeta is the part of an object's metadata that a pool may set.
type ObjectMeta struct {
	// Labels every node gets. Pods may select on them. At most 100; keys of the
	// domain karpenter.sh are taken, except karpenter.sh/capacity-type.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="!('karpenter.sh/nodepool' in self)",message="label karpenter.sh/nodepool is set by Karpenter to the name of the pool: remove it"
	// +kubebuilder:validation:XValidation:rule="!('kubernetes.io/hostname' in self)",message="label kubernetes.io/hostname is different on every node and cannot be set by a pool: remove it"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^[^/]*karpenter[.]sh(/|$)') || k in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'])",message="labels of the domain karpenter.sh are set by Karpenter; only karpenter.sh/capacity-type may be given",messageExpression="self.filter(k, !(!k.matches('^[^/]*karpenter[.]sh(/|$)') || k in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool']))[0] + ': labels of the domain karpenter.sh are set by Karpenter; only karpenter.sh/capacity-type may be given'"
	// +mapType=atomic
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations every node gets.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeClaimTemplateSpec is the spec of the claims of a pool.
type NodeClaimTemplateSpec struct {
	// Taints every node keeps. Only pods that tolerate them get nodes of the pool.
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`

	// Taints every node starts with and that something else, such as a network
	// plugin, takes off. Pods need not tolerate them; the node counts as
	// initialized when they are gone.
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`

	// Bounds on the labels of the nodes, and so on instance type, zone, capacity
	// type and whatever the provider describes. All of them must hold. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:XValidation:rule="self.key != 'karpenter.sh/nodepool'",message="requirement on karpenter.sh/nodepool: the nodes of a pool always carry its own name; remove it",fieldPath=".key"
	// +kubebuilder:validation:items:XValidation:rule="!self.key.matches('^[^/]*karpenter[.]sh(/|$)') || self.key in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool']",message="a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type",messageExpression="'requirement on ' + self.key + ': a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type'",fieldPath=".key"
	// +listType=atomic
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements" hash:"ignore"`

	// Node class the nodes are made with. Its name may change later, its group and
	// kind may not.
	// +kubebuilder:validation:XValidation:rule="self.group == oldSelf.group",message="nodeClassRef.group is immutable: make a new pool for another provider",fieldPath=".group"
	// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="nodeClassRef.kind is immutable: make a new pool for another provider",fieldPath=".kind"
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`

	// Longest time a node may take to drain, as a duration in h, m and s. After it
	// pods are deleted whatever their budgets and annotations say. Default: no end.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`

	// Age at which a node is replaced, as a duration in h, m and s, or Never.
	// Budgets do not hold expiry back. Default: 720h (30 days).
	// +kubebuilder:default:="720h"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitempty"`
}
