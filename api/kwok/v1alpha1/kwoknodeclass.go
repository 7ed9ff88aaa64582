package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// KWOKNodeClass configures simulated nodes, which exist only in the API server,
// for tests and demonstrations. It is always ready.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=kwoknodeclasses,scope=Cluster,categories=karpenter,shortName={kwoknc,kwokncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether nodes can be made"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the class was made"
type KWOKNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state of the KWOKNodeClass.
	// +optional
	Spec KWOKNodeClassSpec `json:"spec,omitempty"`
	// Observed state of the KWOKNodeClass: always Ready=True.
	// +kubebuilder:default:={conditions: {{type: "Ready", status: "True", reason: "Ready", message: "", lastTransitionTime: "2024-01-01T00:00:00Z"}}}
	// +optional
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

// KWOKNodeClassSpec configures the simulated nodes.
type KWOKNodeClassSpec struct {
	// Time from the launch of a NodeClaim until its Node is created, as a duration in
	// h, m and s such as 30s. Default: immediately.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	NodeRegistrationDelay *metav1.Duration `json:"nodeRegistrationDelay,omitempty"`
}

// KWOKNodeClassStatus always has the condition Ready with the status True. The
// condition is a default in the schema, so that no controller is needed.
type KWOKNodeClassStatus struct {
	// Conditions of the KWOKNodeClass: Ready, always True.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GetConditions implements condition.Object.
func (c *KWOKNodeClass) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements condition.Object.
func (c *KWOKNodeClass) SetConditions(list []metav1.Condition) { c.Status.Conditions = list }

// StatusConditions implements condition.Object.
func (c *KWOKNodeClass) StatusConditions() condition.Types {
	return condition.Types{Root: ConditionTypeReady}
}
