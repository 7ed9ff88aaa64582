package v1

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Operators of requirements beyond those of Kubernetes.
const (
	// NodeSelectorOpGte is Gt with equality.
	NodeSelectorOpGte corev1.NodeSelectorOperator = "Gte"
	// NodeSelectorOpLte is Lt with equality.
	NodeSelectorOpLte corev1.NodeSelectorOperator = "Lte"
)

// NodeSelectorRequirementWithMinValues bounds the values of one label. It may
// also require a minimum number of different values.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || (has(self.values) && self.values.size() > 0)",message="operator In needs at least one value",messageExpression="'requirement on ' + self.key + ': operator In needs at least one value'",fieldPath=".values"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && self.values.size() == 1 && (self.values[0].matches('^([+]?0*[0-9]{1,18}|-0+)$') || (self.values[0].matches('^[0-9]{19}$') && self.values[0] <= '9223372036854775807')))",message="operators Gt, Lt, Gte and Lte need exactly one value, a whole number of 0 or more",messageExpression="'requirement on ' + self.key + ': operators Gt, Lt, Gte and Lte need exactly one value, a whole number of 0 or more'",fieldPath=".values"
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || !has(self.minValues) || (has(self.values) && self.values.size() >= self.minValues)",message="operator In needs at least as many values as minValues says",messageExpression="'requirement on ' + self.key + ': operator In needs at least as many values as minValues says'",fieldPath=".values"
// +kubebuilder:validation:XValidation:rule="self.key != 'kubernetes.io/hostname'",message="a requirement may not use kubernetes.io/hostname: it is different on every node",fieldPath=".key"
type NodeSelectorRequirementWithMinValues struct {
	// Key of the label.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Key string `json:"key"`

	// Comparison of the label with the values. In: one of them. NotIn: none of them,
	// or no label. Exists, DoesNotExist: the label is present or absent, whatever its
	// value. Gt, Lt, Gte, Lte: greater than, less than, at least, at most the value,
	// as a number.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
	Operator corev1.NodeSelectorOperator `json:"operator"`

	// Values of the comparison: one or more for In, exactly one whole number of 0 or
	// more for Gt, Lt, Gte, Lte, none for Exists and DoesNotExist.
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`

	// Minimum number of different values of the label among the instance types of a
	// new node, so that the cloud has a choice: 1 to 50. Alpha.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +optional
	MinValues *int `json:"minValues,omitempty"`
}

// NodeClassReference names a node class, which has the provider's settings for the nodes of a pool.
type NodeClassReference struct {
	// Kind of the node class, such as EC2NodeClass.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="nodeClassRef.kind must not be empty"
	Kind string `json:"kind"`
	// Name of the node class.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="nodeClassRef.name must not be empty"
	Name string `json:"name"`
	// API group of the node class without version, such as karpenter.k8s.aws.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="nodeClassRef.group must not be empty"
	// +kubebuilder:validation:Pattern=`^[^/]*$`
	Group string `json:"group"`
}

// String returns the kind, the name and the group of the node class, for messages.
func (r *NodeClassReference) String() string {
	if r == nil {
		return "a reference to no node class"
	}
	return r.Kind + " " + r.Name + " of group " + strconv.Quote(r.Group)
}

// GroupKind is the kind of the node class, whatever its version.
func (r *NodeClassReference) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Group, Kind: r.Kind}
}
