package launch

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
)

// templatePrefix is the prefix of the names of Karpenter's launch templates.
const templatePrefix = "karpenter.k8s.aws/"

// A Template is a launch template to create. Its name contains a hash of all its other values, so equal templates have
// the same name.
type Template struct {
	Name string
	Data ec2types.RequestLaunchTemplateData
	Tags map[string]string
}

// A templateSpec has the values from which a launch template is created.
type templateSpec struct {
	class    *awsv1.EC2NodeClass
	imageID  string
	userData string
	tags     map[string]string
	// capacityType and tenancy are the capacity type and the tenancy of the launch.
	capacityType, tenancy string
	// efas is the number of EFA interfaces of the instance.
	efas   int
	ipv6   bool
	region string
	// reservations is true if the controller handles capacity reservations. Then launches without a target reservation
	// must not use open reservations.
	reservations bool
	// reservation is the target reservation of the launch, zero for none.
	reservation instances.Reservation
	// placementGroup is nil for none. partition is its required partition, empty for any.
	placementGroup *placement.Group
	partition      string
}

// template returns the launch template with the values of s.
func (s templateSpec) template() (Template, error) {
	spec := s.class.Spec
	data := ec2types.RequestLaunchTemplateData{
		ImageId:             aws.String(s.imageID),
		IamInstanceProfile:  &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String(s.class.Status.InstanceProfile)},
		UserData:            aws.String(base64.StdEncoding.EncodeToString([]byte(s.userData))),
		Monitoring:          &ec2types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(ptr.Deref(spec.DetailedMonitoring, false))},
		BlockDeviceMappings: deviceMappings(catalog.FamilyOf(s.class).Mappings(s.class)),
		MetadataOptions:     s.metadata(),
		NetworkInterfaces:   s.interfaces(),
		TagSpecifications:   s.tagSpecifications(),
		Placement:           s.placement(),
	}
	if o := spec.EnclaveOptions; o != nil && o.Enabled {
		data.EnclaveOptions = &ec2types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)}
	}
	if o := spec.CPUOptions; o != nil && o.NestedVirtualization != nil {
		data.CpuOptions = &ec2types.LaunchTemplateCpuOptionsRequest{
			NestedVirtualization: ec2types.NestedVirtualizationSpecification(*o.NestedVirtualization),
		}
	}
	data.CapacityReservationSpecification, data.InstanceMarketOptions = s.reservationSpec()
	raw, err := json.Marshal([]any{data, s.tags, s.class.Name})
	if err != nil {
		return Template{}, fmt.Errorf("name launch template: %w", err)
	}
	sum := sha256.Sum256(raw)
	name := templatePrefix + strconv.FormatUint(binary.BigEndian.Uint64(sum[:8]), 10)
	return Template{Name: name, Data: data, Tags: s.tags}, nil
}

// placement returns the tenancy, the placement group and its partition.
func (s templateSpec) placement() *ec2types.LaunchTemplatePlacementRequest {
	out := &ec2types.LaunchTemplatePlacementRequest{Tenancy: ec2types.Tenancy(s.tenancy)}
	if s.placementGroup == nil {
		return out
	}
	out.GroupId = aws.String(s.placementGroup.ID)
	if n, err := strconv.ParseInt(s.partition, 10, 32); err == nil {
		out.PartitionNumber = aws.Int32(int32(n))
	}
	return out
}

// reservationSpec returns the capacity reservation in which instances are launched, and the market options that it requires. If
// the controller does not handle reservations, both are nil. Otherwise, without a target reservation, the preference
// is none, so that the instances do not use open reservations of other workloads.
func (s templateSpec) reservationSpec() (
	*ec2types.LaunchTemplateCapacityReservationSpecificationRequest, *ec2types.LaunchTemplateInstanceMarketOptionsRequest,
) {
	switch {
	case !s.reservations:
		return nil, nil
	case s.reservation.ID == "":
		return &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: ec2types.CapacityReservationPreferenceNone,
		}, nil
	}
	spec := &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
		CapacityReservationPreference: ec2types.CapacityReservationPreferenceCapacityReservationsOnly,
		CapacityReservationTarget:     &ec2types.CapacityReservationTarget{CapacityReservationId: aws.String(s.reservation.ID)},
	}
	switch {
	case s.reservation.Type == awsv1.CapacityReservationTypeCapacityBlock:
		return spec, &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeCapacityBlock}
	case s.reservation.Interruptible:
		return spec, &ec2types.LaunchTemplateInstanceMarketOptionsRequest{
			MarketType: ec2types.MarketTypeInterruptibleCapacityReservation,
		}
	}
	return spec, nil
}

func deviceMappings(in []*awsv1.BlockDeviceMapping) []ec2types.LaunchTemplateBlockDeviceMappingRequest {
	var out []ec2types.LaunchTemplateBlockDeviceMappingRequest
	for _, m := range in {
		if m == nil {
			continue
		}
		r := ec2types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: m.DeviceName}
		if e := m.EBS; e != nil {
			r.Ebs = &ec2types.LaunchTemplateEbsBlockDeviceRequest{
				DeleteOnTermination: e.DeleteOnTermination, Encrypted: e.Encrypted, KmsKeyId: e.KMSKeyID,
				SnapshotId: e.SnapshotID, VolumeInitializationRate: e.VolumeInitializationRate,
				Iops: nonZero(e.IOPS), Throughput: nonZero(e.Throughput),
				VolumeType: ec2types.VolumeType(ptr.Deref(e.VolumeType, "")),
			}
			if e.VolumeSize != nil {
				r.Ebs.VolumeSize = aws.Int32(int32(math.Ceil(float64(e.VolumeSize.Value()) / (1 << 30))))
			}
		}
		out = append(out, r)
	}
	return out
}

// nonZero converts n, and returns nil for zero.
func nonZero(n *int64) *int32 {
	if n == nil || *n == 0 {
		return nil
	}
	return aws.Int32(int32(*n))
}

// noIPv6Metadata are regions in which EC2 does not support the IPv6 endpoint of instance metadata.
var noIPv6Metadata = []string{
	"us-iso-east-1", "us-iso-west-1", "us-isob-east-1", "us-isob-west-1", "us-isof-south-1", "us-isof-east-1",
}

func (s templateSpec) metadata() *ec2types.LaunchTemplateInstanceMetadataOptionsRequest {
	m := s.class.Spec.MetadataOptions
	if m == nil {
		m = &awsv1.MetadataOptions{}
	}
	out := &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{
		HttpEndpoint:            ec2types.LaunchTemplateInstanceMetadataEndpointState(ptr.Deref(m.HTTPEndpoint, "enabled")),
		HttpPutResponseHopLimit: aws.Int32(int32(ptr.Deref(m.HTTPPutResponseHopLimit, 1))),
		HttpTokens:              ec2types.LaunchTemplateHttpTokensState(ptr.Deref(m.HTTPTokens, "required")),
		InstanceMetadataTags:    ec2types.LaunchTemplateInstanceMetadataTagsStateDisabled,
	}
	if !slices.Contains(noIPv6Metadata, s.region) {
		out.HttpProtocolIpv6 = ec2types.LaunchTemplateInstanceMetadataProtocolIpv6(ptr.Deref(m.HTTPProtocolIPv6, "disabled"))
	}
	return out
}

// interfaces returns the network interfaces: those of the class, or else efas EFA interfaces, or else one interface.
func (s templateSpec) interfaces() []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
	var groups []string
	for _, g := range s.class.Status.SecurityGroups {
		groups = append(groups, g.ID)
	}
	one := func(card, device int32, kind string) ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
		n := ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			NetworkCardIndex: aws.Int32(card), DeviceIndex: aws.Int32(device), Groups: groups,
		}
		if kind != "" {
			n.InterfaceType = aws.String(kind)
		}
		if kind != string(awsv1.InterfaceTypeEFAOnly) {
			s.setAddresses(&n)
		}
		return n
	}
	var out []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest
	for _, i := range s.class.Spec.NetworkInterfaces {
		out = append(out, one(i.NetworkCardIndex, i.DeviceIndex, string(i.InterfaceType)))
	}
	if len(out) > 0 {
		return out
	}
	for card := range int32(s.efas) {
		out = append(out, one(card, min(card, 1), "efa"))
	}
	if len(out) > 0 {
		return out
	}
	plain := one(0, 0, "")
	plain.NetworkCardIndex = nil
	return append(out, plain)
}

// setAddresses sets the fields of an interface that has IP addresses.
func (s templateSpec) setAddresses(n *ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest) {
	spec := s.class.Spec
	n.AssociatePublicIpAddress = spec.AssociatePublicIPAddress
	if s.ipv6 {
		n.Ipv6PrefixCount, n.PrimaryIpv6, n.Ipv6AddressCount = spec.IPPrefixCount, aws.Bool(true), aws.Int32(1)
	} else {
		n.Ipv4PrefixCount = spec.IPPrefixCount
	}
	if t := spec.ConnectionTracking; t != nil {
		n.ConnectionTrackingSpecification = &ec2types.ConnectionTrackingSpecificationRequest{
			TcpEstablishedTimeout: t.TCPEstablishedTimeout, UdpStreamTimeout: t.UDPStreamTimeout, UdpTimeout: t.UDPTimeout,
		}
	}
}

func (s templateSpec) tagSpecifications() []ec2types.LaunchTemplateTagSpecificationRequest {
	kinds := []ec2types.ResourceType{ec2types.ResourceTypeNetworkInterface}
	if s.capacityType == "spot" {
		kinds = append(kinds, ec2types.ResourceTypeSpotInstancesRequest)
	}
	var out []ec2types.LaunchTemplateTagSpecificationRequest
	for _, k := range kinds {
		out = append(out, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: k, Tags: instances.Tags(s.tags)})
	}
	return out
}
