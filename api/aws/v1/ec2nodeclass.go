package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
)

// EC2NodeClass says how the nodes of one or more pools are made on AWS: machine
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

	// What the nodes should be.
	// +kubebuilder:validation:XValidation:rule="has(self.role) || has(self.instanceProfile)",message="spec needs role or instanceProfile: nodes cannot join without an IAM role"
	// +kubebuilder:validation:XValidation:rule="!has(self.role) || !has(self.instanceProfile)",message="set only one of spec.role and spec.instanceProfile"
	// +kubebuilder:validation:XValidation:rule="has(self.amiFamily) || self.amiSelectorTerms.exists(t, has(t.alias))",message="spec.amiFamily is required unless an amiSelectorTerm has an alias"
	// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || self.amiFamily == 'Custom' || self.amiSelectorTerms.all(t, !has(t.alias) || t.alias.startsWith(self.amiFamily.lowerAscii() + '@'))",message="spec.amiFamily must be the family of the alias, or Custom"
	// +optional
	Spec EC2NodeClassSpec `json:"spec,omitempty"`
	// What was found in the account. Written by Karpenter only.
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

// EC2NodeClassSpec is what the owner of a class asks for.
type EC2NodeClassSpec struct {
	// Subnets nodes may be launched in: those that match any of the terms. 1 to 30
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

	// Capacity reservations nodes may use: those that match any of the terms. At
	// most 30. Default: none.
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="!self.all(t, has(t.id) && (has(t.tags) || has(t.ownerID) || has(t.instanceMatchCriteria)))",message="capacityReservationSelectorTerms needs a term, or is left out; a term with id has neither tags, ownerID nor instanceMatchCriteria"
	// +optional
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty"`

	// Placement group nodes are launched in. Default: none.
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`

	// Whether nodes get a public IP address. Default: as the subnet says.
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`

	// Number of IPv4 prefixes (/28) the first network interface of a node starts
	// with. Default: none.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty"`

	// Machine images: those that match any of the terms; of the images that suit an
	// instance type the newest is used. 1 to 30 terms; an alias stands alone.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +kubebuilder:validation:XValidation:rule="self.size() == 1 || !self.exists(t, has(t.alias))",message="an amiSelectorTerm with alias must be the only term"
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms"`

	// Kind of image, which decides how user data is written and which disk is the
	// root: AL2, AL2023, Bottlerocket, Custom, Windows2019, Windows2022,
	// Windows2025. Default: the family of the alias; required if there is none.
	// Custom leaves user data untouched.
	// +kubebuilder:validation:Enum=AL2;AL2023;Bottlerocket;Custom;Windows2019;Windows2022;Windows2025
	// +optional
	AMIFamily *string `json:"amiFamily,omitempty"`

	// Boot configuration of the nodes in the format of the image family. It is
	// merged with what a node needs to join, except in the family Custom, where it
	// is used as it is.
	// +optional
	UserData *string `json:"userData,omitempty"`

	// IAM role of the nodes, by name. Karpenter makes an instance profile for it.
	// Excludes instanceProfile.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="spec.role must not be empty"
	// +optional
	Role string `json:"role,omitempty"`

	// Instance profile of the nodes, by name. Karpenter uses it and does not
	// change or delete it. Excludes role.
	// +kubebuilder:validation:XValidation:rule="self != ''",message="spec.instanceProfile must not be empty"
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`

	// Tags of everything that is made for a node: instance, volumes, network
	// interfaces, launch template. Tags Karpenter works with cannot be set.
	// +kubebuilder:validation:XValidation:rule="!('' in self)",message="spec.tags has an empty key"
	// +kubebuilder:validation:XValidation:rule="!('eks:eks-cluster-name' in self)",message="tag eks:eks-cluster-name is set by Karpenter: remove it"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('kubernetes.io/cluster'))",message="tags that begin with kubernetes.io/cluster are set by Karpenter: remove them"
	// +kubebuilder:validation:XValidation:rule="!('karpenter.sh/nodepool' in self)",message="tag karpenter.sh/nodepool is set by Karpenter: remove it"
	// +kubebuilder:validation:XValidation:rule="!('karpenter.sh/nodeclaim' in self)",message="tag karpenter.sh/nodeclaim is set by Karpenter: remove it"
	// +kubebuilder:validation:XValidation:rule="!('karpenter.k8s.aws/ec2nodeclass' in self)",message="tag karpenter.k8s.aws/ec2nodeclass is set by Karpenter: remove it"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// Fields of the kubelet's own configuration (kubelet.config.k8s.io/v1beta1),
	// such as maxPods, kubeReserved or evictionHard. Mistakes show in the condition
	// ValidationSucceeded. registerWithTaints belongs to the pool.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Kubelet map[string]apiextensionsv1.JSON `json:"kubelet,omitempty"`

	// Disks of the nodes. At most 50. Default: the encrypted gp3 disks that suit the
	// image family.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.filter(m, has(m.rootVolume) && m.rootVolume).size() <= 1",message="at most one of blockDeviceMappings may have rootVolume: true"
	// +optional
	BlockDeviceMappings []*BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`

	// What becomes of the disks inside the machine. RAID0 joins them to one for
	// ephemeral storage. Default: they are left alone.
	// +optional
	InstanceStorePolicy *InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`

	// Network interfaces of the nodes, for types with several network cards. At most
	// 150. Default: one, and EFA where pods ask for it.
	// +kubebuilder:validation:MaxItems=150
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.exists(i, i.networkCardIndex == 0 && i.deviceIndex == 0 && i.interfaceType == 'interface')",message="one of networkInterfaces must be the primary one: networkCardIndex 0, deviceIndex 0, interfaceType interface"
	// +kubebuilder:validation:XValidation:rule="self.all(i, self.exists_one(j, i.networkCardIndex == j.networkCardIndex && i.deviceIndex == j.deviceIndex))",message="networkInterfaces must differ in networkCardIndex or deviceIndex"
	// +kubebuilder:validation:XValidation:rule="self.all(i, i.interfaceType != 'efa-only' || self.exists_one(j, j.interfaceType == 'efa-only' && i.networkCardIndex == j.networkCardIndex))",message="a network card can have at most one interface of interfaceType efa-only"
	// +optional
	NetworkInterfaces []*NetworkInterface `json:"networkInterfaces,omitempty"`

	// Whether CloudWatch gets metrics of the instance every minute, at a price,
	// rather than every five. Default: false.
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`

	// Access to the instance metadata service from the node. Default: on, IPv4,
	// tokens required, one hop, so that pods do not reach it.
	// +kubebuilder:default:={httpEndpoint: "enabled", httpProtocolIPv6: "disabled", httpPutResponseHopLimit: 1, httpTokens: "required"}
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`

	// Idle timeouts of the connections security groups track. Default: AWS's.
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`

	// Passed to EC2 as it is, in the field Context of CreateFleet. Reserved by AWS.
	// +optional
	Context *string `json:"context,omitempty"`

	// Options of the processor.
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`
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
