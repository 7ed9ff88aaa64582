package instances

import (
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// TagLaunch is the tag whose value is the token of the fleet call that launched the instance.
const TagLaunch = "ext.karpenter.sh/launch"

// An Instance has the facts about an EC2 instance that the provider uses.
type Instance struct {
	ID, ImageID, Type string
	// PrivateDNSName is the private DNS name of the instance, which is also the name of its node. It is empty if EC2
	// has not returned it yet.
	PrivateDNSName string
	Zone, ZoneID   string
	SubnetID       string
	CapacityType   string
	Tenancy        string
	State          string
	SecurityGroups []string
	Tags           map[string]string
	EFAs           int64
	Launched       time.Time
	// Reservation is the capacity reservation of a reserved instance, zero for all others, and zero if Config.Reserved is
	// false.
	Reservation Reservation
	// Group is the ID of the placement group of the instance, empty if there is none. Partition is its partition, 0 if
	// there is none.
	Group     string
	Partition int
	// Partitioned is true if the group has partitions. Only launches set it, because EC2 does not describe it.
	Partitioned bool
}

// A Reservation is the capacity reservation of an instance.
type Reservation struct {
	ID string
	// Type is default or capacity-block.
	Type          awsv1.CapacityReservationType
	Interruptible bool
}

// fromEC2 returns the facts about i. It does not set Reservation.
func fromEC2(i ec2types.Instance) Instance {
	out := Instance{
		ID: aws.ToString(i.InstanceId), ImageID: aws.ToString(i.ImageId), Type: string(i.InstanceType),
		PrivateDNSName: aws.ToString(i.PrivateDnsName), SubnetID: aws.ToString(i.SubnetId), Launched: aws.ToTime(i.LaunchTime),
		CapacityType: apiv1.CapacityTypeOnDemand, Tenancy: awsv1.TenancyDefault,
		Tags: make(map[string]string, len(i.Tags)),
	}
	if i.SpotInstanceRequestId != nil || i.InstanceLifecycle == ec2types.InstanceLifecycleTypeSpot {
		out.CapacityType = apiv1.CapacityTypeSpot
	}
	if p := i.Placement; p != nil {
		out.Zone, out.ZoneID = aws.ToString(p.AvailabilityZone), aws.ToString(p.AvailabilityZoneId)
		if p.Tenancy != "" {
			out.Tenancy = string(p.Tenancy)
		}
		out.Group, out.Partition = aws.ToString(p.GroupId), int(aws.ToInt32(p.PartitionNumber))
	}
	if i.State != nil {
		out.State = string(i.State.Name)
	}
	for _, g := range i.SecurityGroups {
		out.SecurityGroups = append(out.SecurityGroups, aws.ToString(g.GroupId))
	}
	for _, n := range i.NetworkInterfaces {
		if t := aws.ToString(n.InterfaceType); t == "efa" || t == "efa-only" {
			out.EFAs++
		}
	}
	for _, t := range i.Tags {
		out.Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return out
}

// readReservation sets Reservation if the instance was launched for a reservation. An on-demand instance that EC2
// counts in an open reservation is not changed.
func (i *Instance) readReservation(in ec2types.Instance) {
	spec := in.CapacityReservationSpecification
	id := aws.ToString(in.CapacityReservationId)
	if id == "" || spec == nil ||
		spec.CapacityReservationPreference != ec2types.CapacityReservationPreferenceCapacityReservationsOnly {
		return
	}
	i.CapacityType = apiv1.CapacityTypeReserved
	i.Reservation = Reservation{ID: id, Type: awsv1.CapacityReservationTypeDefault}
	switch in.InstanceLifecycle {
	case ec2types.InstanceLifecycleTypeCapacityBlock:
		i.Reservation.Type = awsv1.CapacityReservationTypeCapacityBlock
	case ec2types.InstanceLifecycleTypeInterruptibleCapacityReservation:
		i.Reservation.Interruptible = true
	}
}

// Ending reports whether the instance is being terminated or is terminated.
func (i Instance) Ending() bool { return i.State == "shutting-down" || i.State == "terminated" }

// ProviderID returns the provider ID of the instance's node.
func (i Instance) ProviderID() string { return ProviderID(i.Zone, i.ID) }

// Class returns the name of the EC2NodeClass of the instance, by its tag.
func (i Instance) Class() string { return i.Tags[awsv1.TagNodeClass] }

// ClassesOf returns the name of the EC2NodeClass of each instance, in the order of list.
func ClassesOf(list []Instance) []string {
	out := make([]string, len(list))
	for n, i := range list {
		out[n] = i.Class()
	}
	return out
}

// ProviderID returns the provider ID of the node of an instance.
func ProviderID(zone, id string) string { return fmt.Sprintf("aws:///%s/%s", zone, id) }

var providerID = regexp.MustCompile(`^[^:]+:///([^/]+)/(i-[^/]+)$`)

// ParseProviderID returns the zone and the instance ID of a provider ID. ok is false if it does not have the form of
// AWS.
func ParseProviderID(s string) (zone, id string, ok bool) {
	m := providerID.FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}
