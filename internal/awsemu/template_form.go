package awsemu

import (
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// templateData reads the parameters that describe an instance. They have the same names in LaunchTemplateData and in
// RunInstances.
func templateData(f wire.Form) world.TemplateData {
	profile := f.String("IamInstanceProfile.Name")
	if profile == "" {
		profile = f.String("IamInstanceProfile.Arn")
	}
	d := world.TemplateData{
		ImageID: f.String("ImageId"), InstanceType: f.String("InstanceType"), KeyName: f.String("KeyName"),
		UserData: f.String("UserData"), Profile: profile,
		Monitoring: f.Bool("Monitoring.Enabled"), EBSOptimized: f.Bool("EbsOptimized"),
		SecurityGroups: f.List("SecurityGroupId"), Tags: tagSpecs(f),
		Metadata: world.MetadataOptions{
			Endpoint: f.String("MetadataOptions.HttpEndpoint"), IPv6: f.String("MetadataOptions.HttpProtocolIpv6"),
			Tokens: f.String("MetadataOptions.HttpTokens"), Tags: f.String("MetadataOptions.InstanceMetadataTags"),
			HopLimit: f.Int("MetadataOptions.HttpPutResponseHopLimit"),
		},
		Placement: world.Placement{
			Tenancy: f.String("Placement.Tenancy"), GroupID: f.String("Placement.GroupId"),
			GroupName: f.String("Placement.GroupName"), Partition: f.Int("Placement.PartitionNumber"),
		},
		Enclave:               f.Bool("EnclaveOptions.Enabled"),
		NestedVirtualization:  f.String("CpuOptions.NestedVirtualization"),
		ReservationPreference: f.String("CapacityReservationSpecification.CapacityReservationPreference"),
		ReservationID:         f.String("CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"),
		MarketType:            f.String("InstanceMarketOptions.MarketType"),
	}
	for _, b := range f.Each("BlockDeviceMapping") {
		d.BlockDevices = append(d.BlockDevices, blockDevice(b))
	}
	for _, n := range f.Each("NetworkInterface") {
		d.NICs = append(d.NICs, networkInterface(n))
	}
	return d
}

// blockDevice reads one block device mapping.
func blockDevice(f wire.Form) world.BlockDevice {
	b := world.BlockDevice{
		Device: f.String("DeviceName"), VolumeType: f.String("Ebs.VolumeType"),
		SnapshotID: f.String("Ebs.SnapshotId"), KMSKey: f.String("Ebs.KmsKeyId"),
		SizeGiB: f.Int("Ebs.VolumeSize"), IOPS: f.Int("Ebs.Iops"), Throughput: f.Int("Ebs.Throughput"),
		InitRate: f.Int("Ebs.VolumeInitializationRate"), Encrypted: f.Bool("Ebs.Encrypted"),
		DeleteOnTermination: true,
	}
	if f.Has("Ebs.DeleteOnTermination") {
		b.DeleteOnTermination = f.Bool("Ebs.DeleteOnTermination")
	}
	return b
}

// networkInterface reads one network interface specification.
func networkInterface(f wire.Form) world.NIC {
	n := world.NIC{
		Device: f.Int("DeviceIndex"), Card: f.Int("NetworkCardIndex"), Type: f.String("InterfaceType"),
		Subnet: f.String("SubnetId"), Groups: f.List("SecurityGroupId"),
		IPv4Prefixes: f.Int("Ipv4PrefixCount"), IPv6Prefixes: f.Int("Ipv6PrefixCount"), IPv6Address: f.Int("Ipv6AddressCount"),
		PrimaryIPv6: f.Bool("PrimaryIpv6"),
	}
	if f.Has("AssociatePublicIpAddress") {
		public := f.Bool("AssociatePublicIpAddress")
		n.PublicIP = &public
	}
	return n
}

// templateVersionRef reads a reference to a version of a launch template.
func templateVersionRef(f wire.Form) world.TemplateRef {
	ref := templateRef(f)
	ref.Version = f.String("Version")
	return ref
}

// templateRef reads a reference to a launch template without its version. At the top level of a request, the parameter Version is
// the version of the API.
func templateRef(f wire.Form) world.TemplateRef {
	return world.TemplateRef{ID: f.String("LaunchTemplateId"), Name: f.String("LaunchTemplateName")}
}
