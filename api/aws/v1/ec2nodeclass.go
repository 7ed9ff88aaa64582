package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// EC2NodeClass configures the AWS instances of one or more NodePools: machine
// image, subnets, security groups, role, disks, boot configuration.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ec2nodeclasses,scope=Cluster,categories=karpenter,shortName={ec2nc,ec2ncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether nodes can be made"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the class was made"
// +kubebuilder:printcolumn:name="Role",type="string",JSONPath=".spec.role",priority=1,description="IAM role of the nodes"
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state of the EC2NodeClass.
	// +kubebuilder:validation:XValidation:rule="has(self.role) || has(self.instanceProfile)",message="spec needs role or instanceProfile: nodes cannot join without an IAM role"
	// +kubebuilder:validation:XValidation:rule="!has(self.role) || !has(self.instanceProfile)",message="set only one of spec.role and spec.instanceProfile"
	// +kubebuilder:validation:XValidation:rule="has(self.amiFamily) || self.amiSelectorTerms.exists(t, has(t.alias))",message="spec.amiFamily is required unless an amiSelectorTerm has an alias"
	// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || self.amiFamily == 'Custom' || self.amiSelectorTerms.all(t, !has(t.alias) || t.alias.startsWith(self.amiFamily.lowerAscii() + '@'))",message="spec.amiFamily must be the family of the alias, or Custom"
	// +optional
	Spec EC2NodeClassSpec `json:"spec,omitempty"`
	// Observed state of the EC2NodeClass: what its selectors match. Written by
	// Karpenter only.
	// +optional
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

// EC2NodeClassSpec is the desired state of an EC2NodeClass.
type EC2NodeClassSpec struct {
	// Subnets that nodes are launched in: those that match any of the terms. 1 to 30
	// terms.
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="subnetSelectorTerms needs at least one term"
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || !self.all(t, has(t.id) && has(t.tags))",message="a subnetSelectorTerm has either id or tags, not both"
	SubnetSelectorTerms []SubnetSelectorTerm `json:"subnetSelectorTerms"`

	// Security groups of the nodes: all that match any of the terms. 1 to 30 terms.
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="securityGroupSelectorTerms needs at least one term"
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || !self.all(t, has(t.id) && (has(t.tags) || has(t.name)))",message="a securityGroupSelectorTerm with id has neither tags nor name"
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || !self.all(t, has(t.name) && (has(t.tags) || has(t.id)))",message="a securityGroupSelectorTerm with name has neither tags nor id"
	SecurityGroupSelectorTerms []SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms"`

	// Capacity reservations that nodes can use: those that match any of the terms. At
	// most 30 terms. Default: none.
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="!self.all(t, has(t.id) && (has(t.tags) || has(t.ownerID) || has(t.instanceMatchCriteria)))",message="capacityReservationSelectorTerms needs a term, or is left out; a term with id has neither tags, ownerID nor instanceMatchCriteria"
	// +optional
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty"`

	// Placement group that nodes are launched in. Default: none.
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`

	// Assign a public IP address to nodes. Default: the setting of the subnet.
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`

	// Number of prefixes assigned at launch to each network interface that has
	// IP addresses: IPv4 prefixes (/28), or IPv6 prefixes (/80) in an IPv6
	// cluster. Default: none.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty"`

	// AMIs: those that match any of the terms; the newest that is compatible with an
	// instance type is used. 1 to 30 terms; an alias must be the only term.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.size() == 1 || !self.exists(t, has(t.alias))",message="an amiSelectorTerm with alias must be the only term"
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms"`

	// AMI family, which determines the format of user data and the root disk: AL2,
	// AL2023, Bottlerocket, Custom, Windows2019, Windows2022, Windows2025. Required
	// without an alias. Custom leaves user data unchanged. Default: the family of the
	// alias.
	// +kubebuilder:validation:Enum=AL2;AL2023;Bottlerocket;Custom;Windows2019;Windows2022;Windows2025
	// +optional
	AMIFamily *string `json:"amiFamily,omitempty"`

	// User data in the format of the AMI family. It is merged with the configuration
	// that a node needs to join, except for the family Custom, where it is used
	// unchanged.
	// +optional
	UserData *string `json:"userData,omitempty"`

	// Name of the IAM role of the nodes. Karpenter creates an instance profile for
	// it. Mutually exclusive with instanceProfile.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="spec.role must not be empty"
	// +optional
	Role string `json:"role,omitempty"`

	// Name of the instance profile of the nodes. Karpenter does not change or delete
	// it. Mutually exclusive with role.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="spec.instanceProfile must not be empty"
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`

	// Tags applied to the resources that Karpenter creates: instances, volumes,
	// network interfaces, fleets, spot requests, launch templates, instance profiles.
	// Tags that Karpenter sets itself are rejected.
	// +kubebuilder:validation:XValidation:rule="!('' in self)",message="spec.tags has an empty key"
	// +kubebuilder:validation:XValidation:rule="!('eks:eks-cluster-name' in self)",message="tag eks:eks-cluster-name is set by Karpenter: remove it"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster'))",message="tags that begin with kubernetes.io/cluster are set by Karpenter: remove them"
	// +kubebuilder:validation:XValidation:rule="!('karpenter.sh/nodepool' in self)",message="tag karpenter.sh/nodepool is set by Karpenter: remove it"
	// +kubebuilder:validation:XValidation:rule="!('karpenter.sh/nodeclaim' in self)",message="tag karpenter.sh/nodeclaim is set by Karpenter: remove it"
	// +kubebuilder:validation:XValidation:rule="!('karpenter.k8s.aws/ec2nodeclass' in self)",message="tag karpenter.k8s.aws/ec2nodeclass is set by Karpenter: remove it"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// Fields of the kubelet configuration (kubelet.config.k8s.io/v1beta1), such as
	// maxPods, kubeReserved or evictionHard. Invalid values are reported by condition
	// ValidationSucceeded. registerWithTaints is set by the taints of the NodePool.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Kubelet map[string]apiextensionsv1.JSON `json:"kubelet,omitempty"`

	// Disks of the nodes. At most 50. Default: the encrypted gp3 disks of the AMI
	// family; those of the AMI for the family Custom.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.filter(m, has(m.rootVolume) && m.rootVolume).size() <= 1",message="at most one of blockDeviceMappings may have rootVolume: true"
	// +optional
	BlockDeviceMappings []*BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`

	// How instance store volumes are used. RAID0 combines them into one volume for
	// ephemeral storage. Default: they are not used.
	// +optional
	InstanceStorePolicy *InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`

	// Network interfaces of the nodes, for instance types with several network cards.
	// At most 150. Default: one, or if pods request EFA, all EFA interfaces of the
	// instance type.
	// +kubebuilder:validation:MaxItems=150
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.exists(i, i.networkCardIndex == 0 && i.deviceIndex == 0 && i.interfaceType == 'interface')",message="one of networkInterfaces must be the primary one: networkCardIndex 0, deviceIndex 0, interfaceType interface"
	// +kubebuilder:validation:XValidation:rule="self.all(i, self.exists_one(j, i.networkCardIndex == j.networkCardIndex && i.deviceIndex == j.deviceIndex))",message="networkInterfaces must differ in networkCardIndex or deviceIndex"
	// +kubebuilder:validation:XValidation:rule="self.all(i, i.interfaceType != 'efa-only' || self.exists_one(j, j.interfaceType == 'efa-only' && i.networkCardIndex == j.networkCardIndex))",message="a network card can have at most one interface of interfaceType efa-only"
	// +optional
	NetworkInterfaces []*NetworkInterface `json:"networkInterfaces,omitempty"`

	// Send metrics of the instance to CloudWatch every minute, at a charge, instead
	// of every five minutes. Default: false.
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`

	// Access to the instance metadata service from the node. Default: enabled on
	// IPv4, tokens required, one hop, so that pods outside the host network cannot
	// use it.
	// +kubebuilder:default:={httpEndpoint: "enabled", httpProtocolIPv6: "disabled", httpPutResponseHopLimit: 1, httpTokens: "required"}
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`

	// Idle timeouts of connections tracked by security groups. Default: those of EC2.
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`

	// Value of the field Context of CreateFleet, passed unchanged. Not passed for nodes whose minValues were relaxed. Reserved by AWS.
	// +optional
	Context *string `json:"context,omitempty"`

	// Options of the processor.
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`

	// AWS Nitro Enclaves. Default: nodes are launched without support for them.
	// +optional
	EnclaveOptions *EnclaveOptions `json:"enclaveOptions,omitempty"`
}

// GetConditions implements condition.Object.
func (c *EC2NodeClass) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions implements condition.Object.
func (c *EC2NodeClass) SetConditions(list []metav1.Condition) { c.Status.Conditions = list }

// StatusConditions implements condition.Object. CapacityReservationsReady is
// always a dependent. If the feature gate ReservedCapacity is off, the
// controller sets it to True with ReasonReservedCapacityDisabled.
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
