package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// KWOKNodeClass configures nodes without machines.
//
// +kubebuilder:object:root=true
type KWOKNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   KWOKNodeClassSpec   `json:"spec,omitempty"`
	Status KWOKNodeClassStatus `json:"status,omitempty"`
}

// KWOKNodeClassList is a list of KWOKNodeClasses.
//
// +kubebuilder:object:root=true
type KWOKNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KWOKNodeClass `json:"items"`
}

// KWOKNodeClassSpec is how such nodes behave.
type KWOKNodeClassSpec struct {
	NodeRegistrationDelay *metav1.Duration `json:"nodeRegistrationDelay,omitempty"`
}

// KWOKNodeClassStatus is always Ready: the schema sets it, no controller is needed.
type KWOKNodeClassStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionTypeReady is the only condition.
const ConditionTypeReady = "Ready"

// Labels of the kwok provider.
const (
	InstanceSizeLabelKey   = Group + "/instance-size"
	InstanceFamilyLabelKey = Group + "/instance-family"
	InstanceCPULabelKey    = Group + "/instance-cpu"
	InstanceMemoryLabelKey = Group + "/instance-memory"
)

// GetConditions implements condition.Object.
func (c *KWOKNodeClass) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements condition.Object.
func (c *KWOKNodeClass) SetConditions(list []metav1.Condition) { c.Status.Conditions = list }

// StatusConditions implements condition.Object.
func (c *KWOKNodeClass) StatusConditions() condition.Types {
	return condition.Types{Root: ConditionTypeReady}
}
