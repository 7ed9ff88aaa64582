package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// EC2NodeClass says how nodes are made on AWS.
//
// +kubebuilder:object:root=true
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   EC2NodeClassSpec   `json:"spec,omitempty"`
	Status EC2NodeClassStatus `json:"status,omitempty"`
}

// EC2NodeClassList is a list of EC2NodeClasses.
//
// +kubebuilder:object:root=true
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EC2NodeClass `json:"items"`
}

// EC2NodeClassSpec is what the owner of a class asks for.
type EC2NodeClassSpec struct {
	SubnetSelectorTerms              []SubnetSelectorTerm              `json:"subnetSelectorTerms" hash:"ignore"`
	SecurityGroupSelectorTerms       []SecurityGroupSelectorTerm       `json:"securityGroupSelectorTerms" hash:"ignore"`
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty" hash:"ignore"`
	PlacementGroupSelector           *PlacementGroupSelector           `json:"placementGroupSelector,omitempty"`
	AssociatePublicIPAddress         *bool                             `json:"associatePublicIPAddress,omitempty"`
	IPPrefixCount                    *int32                            `json:"ipPrefixCount,omitempty" hash:"ignore"`
	AMISelectorTerms                 []AMISelectorTerm                 `json:"amiSelectorTerms" hash:"ignore"`
	AMIFamily                        *string                           `json:"amiFamily,omitempty" hash:"ignore"`
	UserData                         *string                           `json:"userData,omitempty"`
	Role                             string                            `json:"role,omitempty"`
	InstanceProfile                  *string                           `json:"instanceProfile,omitempty"`
	Tags                             map[string]string                 `json:"tags,omitempty"`
	Kubelet                          map[string]apiextensionsv1.JSON   `json:"kubelet,omitempty" hash:"ignore"`
	BlockDeviceMappings              []*BlockDeviceMapping             `json:"blockDeviceMappings,omitempty"`
	InstanceStorePolicy              *InstanceStorePolicy              `json:"instanceStorePolicy,omitempty"`
	NetworkInterfaces                []*NetworkInterface               `json:"networkInterfaces,omitempty"`
	DetailedMonitoring               *bool                             `json:"detailedMonitoring,omitempty"`
	MetadataOptions                  *MetadataOptions                  `json:"metadataOptions,omitempty"`
	ConnectionTracking               *ConnectionTracking               `json:"connectionTracking,omitempty"`
	Context                          *string                           `json:"context,omitempty"`
	CPUOptions                       *CPUOptions                       `json:"cpuOptions,omitempty"`
}

// GetConditions implements condition.Object.
func (c *EC2NodeClass) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements condition.Object.
func (c *EC2NodeClass) SetConditions(list []metav1.Condition) { c.Status.Conditions = list }

// StatusConditions implements condition.Object. CapacityReservationsReady is
// always a dependent: where reservations are switched off, the controller sets
// it True with ReasonReservedCapacityDisabled.
func (c *EC2NodeClass) StatusConditions() condition.Types {
	return condition.Types{
		Root: ConditionTypeReady,
		Dependents: []string{
			ConditionTypeAMIsReady,
			ConditionTypeSubnetsReady,
			ConditionTypeSecurityGroupsReady,
			ConditionTypeInstanceProfileReady,
			ConditionTypePlacementGroupReady,
			ConditionTypeCapacityReservationsReady,
			ConditionTypeValidationSucceeded,
		},
	}
}
