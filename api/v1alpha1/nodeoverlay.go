package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// NodeOverlay adjusts the price or the extended resources of instance types in
// decisions of Karpenter. It does not change the nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeoverlays,scope=Cluster,categories=karpenter,shortName=overlays
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="True if the overlay is applied"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Weight",type="integer",JSONPath=".spec.weight",priority=1,description="Priority; the highest applies"
type NodeOverlay struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state of the NodeOverlay: offerings and their adjustments.
	// +kubebuilder:validation:XValidation:rule="!has(self.price) || !has(self.priceAdjustment)",message="set only one of spec.price and spec.priceAdjustment"
	Spec NodeOverlaySpec `json:"spec"`
	// Observed state of the NodeOverlay. Written by Karpenter only.
	// +optional
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

// NodeOverlaySpec selects offerings and defines how they are adjusted.
type NodeOverlaySpec struct {
	// Requirements on the labels of the offerings that are adjusted. All of them must
	// be met. Labels of the template of a NodePool and karpenter.sh/nodepool are
	// allowed. At most 100.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Requirements []NodeSelectorRequirement `json:"requirements"`

	// Adjustment of the price: a signed amount in USD/h (+0.5, -0.02) or a signed
	// percentage (+10%, -12.5%), of at most 1000000000. The result is at least 0.
	// Mutually exclusive with price.
	// +kubebuilder:validation:Pattern=`^([+-](\d+(\.\d+)?|\.\d+)|\+(\d+(\.\d+)?|\.\d+)%|-\d{1,2}(\.\d+)?%|-100%)$`
	// +optional
	PriceAdjustment *string `json:"priceAdjustment,omitempty"`

	// Price in USD/h, such as 0.25, of at most 1000000000. Mutually exclusive with
	// priceAdjustment.
	// +kubebuilder:validation:Pattern=`^\d+(\.\d+)?$`
	// +optional
	Price *string `json:"price,omitempty"`

	// Amounts of extended resources of the nodes, such as example.com/fpga: 1. An
	// amount replaces that of the instance type. Not cpu, memory, ephemeral-storage
	// or pods.
	// +kubebuilder:validation:XValidation:rule="!('cpu' in self || 'memory' in self || 'ephemeral-storage' in self || 'pods' in self)",message="spec.capacity may only hold extended resources, not cpu, memory, ephemeral-storage or pods"
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`

	// Priority among overlays that set the same value: the highest weight applies. 1
	// to 10000. If overlays of equal weight set the same value, the last one in name
	// order applies. The other one is rejected entirely: its condition
	// ValidationSucceeded is False with reason Conflict. An overlay without a weight
	// has the lowest priority.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Weight *int32 `json:"weight,omitempty"`
}

// NodeSelectorRequirement bounds the values of one label.
//
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",message="operators In and NotIn need at least one value",messageExpression="'requirement on ' + self.key + ': operators In and NotIn need at least one value'",fieldPath=".values"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && self.values.size() == 1 && (self.values[0].matches('^([+]?0*[0-9]{1,18}|-0+)$') || (self.values[0].matches('^[0-9]{19}$') && self.values[0] <= '9223372036854775807')))",message="operators Gt, Lt, Gte and Lte need exactly one value, a whole number of 0 or more",messageExpression="'requirement on ' + self.key + ': operators Gt, Lt, Gte and Lte need exactly one value, a whole number of 0 or more'",fieldPath=".values"
// +kubebuilder:validation:XValidation:rule="self.key != 'kubernetes.io/hostname'",message="a requirement may not use kubernetes.io/hostname: it is different on every node",fieldPath=".key"
// +kubebuilder:validation:XValidation:rule="!self.key.matches('^[^/]*karpenter[.]sh(/|$)') || self.key in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool']",message="a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type and karpenter.sh/nodepool",messageExpression="'requirement on ' + self.key + ': a requirement may use no label of the domain karpenter.sh except karpenter.sh/capacity-type and karpenter.sh/nodepool'",fieldPath=".key"
type NodeSelectorRequirement struct {
	// Key of the label.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Key string `json:"key"`

	// Comparison of the label with the values. In: one of them. NotIn: none of them.
	// Exists, DoesNotExist: the label is present or absent. Gt, Lt, Gte, Lte: greater
	// than, less than, at least, at most the value, as a number.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// Values of the comparison: one or more for In and NotIn, exactly one whole
	// number of 0 or more for Gt, Lt, Gte, Lte, none for Exists and DoesNotExist.
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// NodeOverlayStatus has the conditions of the overlay.
type NodeOverlayStatus struct {
	// Conditions of the NodeOverlay. Ready is True if ValidationSucceeded is: the
	// spec is valid and does not conflict with an overlay of equal weight.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

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
