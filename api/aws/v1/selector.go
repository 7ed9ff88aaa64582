package v1

// SubnetSelectorTerm finds subnets by tags or id.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) || (has(self.tags) && self.tags.size() > 0)",message="a subnetSelectorTerm needs tags or id"
type SubnetSelectorTerm struct {
	// Tags of the subnet, all of which must match; at most 20. The value * matches
	// any value.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tags of a selector term need a key and a value; use the value '*' for any"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// ID of the subnet, such as subnet-0123456789abcdef0.
	// +kubebuilder:validation:Pattern=`subnet-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`
}

// SecurityGroupSelectorTerm finds security groups by tags, id or name.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.name) || (has(self.tags) && self.tags.size() > 0)",message="a securityGroupSelectorTerm needs tags, id or name"
type SecurityGroupSelectorTerm struct {
	// Tags of the security group, all of which must match; at most 20. The value *
	// matches any value.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tags of a selector term need a key and a value; use the value '*' for any"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// ID of the security group, such as sg-0123456789abcdef0.
	// +kubebuilder:validation:Pattern=`sg-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`

	// Group name of the security group, not its tag Name.
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservationSelectorTerm finds capacity reservations.
//
// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.instanceMatchCriteria) || (has(self.tags) && self.tags.size() > 0)",message="a capacityReservationSelectorTerm needs tags, id or instanceMatchCriteria"
type CapacityReservationSelectorTerm struct {
	// Tags of the reservation, all of which must match; at most 20. The value *
	// matches any value.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tags of a selector term need a key and a value; use the value '*' for any"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// ID of the reservation, such as cr-0123456789abcdef0.
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`

	// ID of the account that owns the reservation, twelve digits.
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +optional
	OwnerID string `json:"ownerID,omitempty"`

	// Instances that use the reservation. open: any instance with its attributes.
	// targeted: only instances that specify it.
	// +kubebuilder:validation:Enum=open;targeted
	// +optional
	InstanceMatchCriteria string `json:"instanceMatchCriteria,omitempty"`
}

// PlacementGroupSelector names one placement group.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="placementGroupSelector needs exactly one of name and id"
type PlacementGroupSelector struct {
	// Name of the placement group.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Name string `json:"name,omitempty"`

	// ID of the placement group, such as pg-0123456789abcdef0.
	// +kubebuilder:validation:Pattern=`^pg-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
}

// AMISelectorTerm finds images.
//
// +kubebuilder:validation:XValidation:rule="has(self.alias) || has(self.id) || has(self.name) || has(self.ssmParameter) || (has(self.tags) && self.tags.size() > 0)",message="an amiSelectorTerm needs alias, tags, id, name or ssmParameter"
// +kubebuilder:validation:XValidation:rule="!has(self.id) || !(has(self.alias) || has(self.tags) || has(self.name) || has(self.owner))",message="an amiSelectorTerm with id has neither alias, tags, name nor owner"
// +kubebuilder:validation:XValidation:rule="!has(self.alias) || !(has(self.id) || has(self.tags) || has(self.name) || has(self.owner))",message="an amiSelectorTerm with alias has neither id, tags, name nor owner"
type AMISelectorTerm struct {
	// AMIs published by AWS for EKS, as family@version: al2023@latest follows new
	// releases, al2023@v20250801 is pinned. Families: al2, al2023, bottlerocket,
	// windows2019, windows2022, windows2025 (Windows only with latest). At most 30
	// characters.
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9]+@.+$')",message="an alias has the form family@version, such as al2023@latest"
	// +kubebuilder:validation:XValidation:rule="self.split('@')[0] in ['al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025']",message="the family of an alias is one of al2, al2023, bottlerocket, windows2019, windows2022, windows2025"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('windows') || self.endsWith('@latest')",message="a Windows alias supports only the version latest"
	// +optional
	Alias string `json:"alias,omitempty"`

	// Tags of the AMI, all of which must match; at most 20. The value * matches any
	// value.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && self[k] != '')",message="tags of a selector term need a key and a value; use the value '*' for any"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`

	// ID of the AMI, such as ami-0123456789abcdef0.
	// +kubebuilder:validation:Pattern=`ami-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`

	// Name of the AMI, not its tag Name. * matches any text.
	// +optional
	Name string `json:"name,omitempty"`

	// Owner of the AMI: an account ID, self, amazon or aws-marketplace. Default with
	// a name: self and amazon.
	// +optional
	Owner string `json:"owner,omitempty"`

	// Name or ARN of the SSM parameter that contains the AMI ID.
	// +optional
	SSMParameter string `json:"ssmParameter,omitempty"`
}
