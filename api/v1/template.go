package v1

import (
	corev1 "k8s.io/api/core/v1"
)

// NodeClaimTemplate is the template of the claims of a pool.
type NodeClaimTemplate struct {
	// Labels and annotations of the nodes.
	// +optional
	ObjectMeta `json:"metadata,omitzero"`
	// Spec of the node claims.
	Spec NodeClaimTemplateSpec `json:"spec"`
}

// ObjectMeta is the part of an object's metadata that a pool may set.
type ObjectMeta struct {
	// Labels applied to every node, which pods can select. At most 100. Keys of the
	// domain karpenter.sh are reserved, except karpenter.sh/capacity-type.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="!('karpenter.sh/nodepool' in self)",message="label karpenter.sh/nodepool is set by Karpenter to the name of the pool: remove it"
	// +kubebuilder:validation:XValidation:rule="!('kubernetes.io/hostname' in self)",message="label kubernetes.io/hostname is different on every node and cannot be set by a pool: remove it"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^[^/]*karpenter[.]sh(/|$)') || k in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'])",message="labels of the domain karpenter.sh are set by Karpenter; only karpenter.sh/capacity-type may be given",messageExpression="self.filter(k, !(!k.matches('^[^/]*karpenter[.]sh(/|$)') || k in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool']))[0] + ': labels of the domain karpenter.sh are set by Karpenter; only karpenter.sh/capacity-type may be given'"
	// +mapType=atomic
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations applied to every node.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeClaimTemplateSpec is the spec of the claims of a pool.
type NodeClaimTemplateSpec struct {
	// Taints applied to every node. Only pods that tolerate them use the NodePool.
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`

	// Taints applied at startup and removed by another component, such as a network
	// plugin. Pods need not tolerate them; the node is initialized when they are
	// removed.
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`

	// Requirements on the labels of the nodes, such as instance type, zone and
	// capacity type. All of them must be met. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:XValidation:rule="self.key != 'karpenter.sh/nodepool'",message="requirement on karpenter.sh/nodepool: the nodes of a pool always carry its own name; remove it",fieldPath=".key"
	// +kubebuilder:validation:items:XValidation:rule="!self.key.matches('^[^/]*karpenter[.]sh(/|$)') || self.key in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool']",message="a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type",messageExpression="'requirement on ' + self.key + ': a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type'",fieldPath=".key"
	// +listType=atomic
	Requirements []NodeSelectorRequirementWithMinValues `json:"requirements" hash:"ignore"`

	// Reference to the node class of the nodes. The name can be changed later; group
	// and kind are immutable.
	// +kubebuilder:validation:XValidation:rule="self.group == oldSelf.group",message="nodeClassRef.group is immutable: make a new pool for another provider",fieldPath=".group"
	// +kubebuilder:validation:XValidation:rule="self.kind == oldSelf.kind",message="nodeClassRef.kind is immutable: make a new pool for another provider",fieldPath=".kind"
	NodeClassRef *NodeClassReference `json:"nodeClassRef"`

	// Maximum duration of a drain, in h, m and s. Afterwards pods are deleted
	// regardless of PodDisruptionBudgets and do-not-disrupt annotations. Default:
	// unlimited (drain waits for every pod).
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	TerminationGracePeriod *Duration `json:"terminationGracePeriod,omitempty"`

	// Age at which a node is replaced, as a duration in h, m and s, or Never.
	// Disruption budgets do not apply to expiry. Default: 720h (30 days).
	// +kubebuilder:default:="720h"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ExpireAfter NillableDuration `json:"expireAfter,omitempty"`
}
