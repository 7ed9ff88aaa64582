package v1

import "k8s.io/apimachinery/pkg/api/resource"

// BlockDeviceMapping is one disk of an instance.
type BlockDeviceMapping struct {
	// Name of the device, such as /dev/xvda.
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`

	// EBS volume of the device.
	// +kubebuilder:validation:XValidation:rule="has(self.snapshotID) || has(self.volumeSize)",message="ebs needs snapshotID or volumeSize"
	// +kubebuilder:validation:XValidation:rule="!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",message="ebs.volumeInitializationRate needs a snapshotID"
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`

	// Use this disk for container images and ephemeral storage of pods. At most one
	// mapping can set it. Default: false.
	// +optional
	RootVolume bool `json:"rootVolume,omitempty"`
}

// BlockDevice is an EBS volume.
type BlockDevice struct {
	// Delete the volume when the instance terminates.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`

	// Encrypt the volume.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`

	// I/O operations per second: required for io1 and io2, optional for gp3.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`

	// KMS key of the encryption: ID, alias or ARN. Default: the key managed by AWS.
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`

	// Snapshot that the volume is created from.
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`

	// Throughput in MiB/s, for gp3.
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`

	// Rate in MiB/s at which the blocks of the snapshot are initialized: 100 to 300.
	// Needs a snapshotID.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	// +optional
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`

	// Size as a whole number of Gi (1 to 59000), G (1 to 64000), Ti (1 to 58) or T
	// (1 to 64), such as 100Gi.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|([1-9]|[1-4][0-9]|5[0-8])?Ti|([1-9]|[1-5][0-9]|6[0-4])?T)$`
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`

	// Volume type: standard, io1, io2, gp2, sc1, st1, gp3.
	// +kubebuilder:validation:Enum=standard;io1;io2;gp2;sc1;st1;gp3
	// +optional
	VolumeType *string `json:"volumeType,omitempty"`
}

// InstanceStorePolicy is how instance store volumes are used.
//
// +kubebuilder:validation:Enum=RAID0
type InstanceStorePolicy string

// InstanceStorePolicyRAID0 combines the volumes into one for ephemeral storage.
const InstanceStorePolicyRAID0 InstanceStorePolicy = "RAID0"

// NetworkInterface is one network interface of an instance.
type NetworkInterface struct {
	// Index of the network card, from 0.
	// +kubebuilder:validation:Minimum=0
	NetworkCardIndex int32 `json:"networkCardIndex"`

	// Index of the interface on its network card, from 0.
	// +kubebuilder:validation:Minimum=0
	DeviceIndex int32 `json:"deviceIndex"`

	// Type of the interface. interface: with IP addresses. efa-only: an Elastic
	// Fabric Adapter without IP addresses.
	InterfaceType InterfaceType `json:"interfaceType"`
}

// InterfaceType is the kind of a network interface.
//
// +kubebuilder:validation:Enum=interface;efa-only
type InterfaceType string

// Interface types.
const (
	// InterfaceTypeInterface has IP addresses.
	InterfaceTypeInterface InterfaceType = "interface"
	// InterfaceTypeEFAOnly is an elastic fabric adapter without IP addresses.
	InterfaceTypeEFAOnly InterfaceType = "efa-only"
)

// MetadataOptions configures the instance metadata service.
type MetadataOptions struct {
	// Availability of the service: enabled or disabled. Default: enabled.
	// +kubebuilder:default:="enabled"
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`

	// Availability of the service on IPv6: enabled or disabled. Default: disabled.
	// +kubebuilder:default:="disabled"
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`

	// Maximum network hops of responses with a token: 1 to 64. With 1, pods outside
	// the host network cannot use the service. Default: 1.
	// +kubebuilder:default:=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +optional
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`

	// Session tokens (IMDSv2) in requests: required or optional. Default: required.
	// +kubebuilder:default:="required"
	// +kubebuilder:validation:Enum=required;optional
	// +optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// ConnectionTracking sets idle timeouts of tracked connections, in seconds.
//
// +kubebuilder:validation:XValidation:rule="has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",message="connectionTracking needs at least one of tcpEstablishedTimeout, udpStreamTimeout and udpTimeout"
type ConnectionTracking struct {
	// Timeout of idle TCP connections in seconds: 60 to 432000.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=432000
	// +optional
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`

	// Timeout of idle UDP flows with more than one request and response, in seconds:
	// 60 to 180.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=180
	// +optional
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`

	// Timeout of idle UDP flows in one direction, or with one request and response,
	// in seconds: 30 to 60.
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=60
	// +optional
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// CPUOptions configures the processor.
type CPUOptions struct {
	// Nested virtualization: enabled or disabled. Default: disabled.
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}

// EnclaveOptions configures AWS Nitro Enclaves.
type EnclaveOptions struct {
	// Enable enclaves on nodes. Only instance types that support enclaves are used
	// then. User data has to start the enclave allocator.
	// +required
	Enabled bool `json:"enabled"`
}
