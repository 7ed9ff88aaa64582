package awsemu

import (
	"fmt"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type reservationXML struct {
	ID        string                `xml:"reservationId"`
	Owner     string                `xml:"ownerId"`
	Requester string                `xml:"requesterId,omitempty"`
	Groups    wire.Set[groupRefXML] `xml:"groupSet"`
	Instances wire.Set[instanceXML] `xml:"instancesSet"`
}

type groupRefXML struct {
	ID   string `xml:"groupId"`
	Name string `xml:"groupName"`
}

type stateXML struct {
	Code int    `xml:"code"`
	Name string `xml:"name"`
}

type reasonXML struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
}

type instanceXML struct {
	ID             string                     `xml:"instanceId"`
	Image          string                     `xml:"imageId"`
	State          stateXML                   `xml:"instanceState"`
	PrivateDNS     string                     `xml:"privateDnsName"`
	DNS            string                     `xml:"dnsName"`
	Reason         string                     `xml:"reason"`
	LaunchIndex    int                        `xml:"amiLaunchIndex"`
	Type           string                     `xml:"instanceType"`
	Launched       string                     `xml:"launchTime"`
	Placement      instancePlacementXML       `xml:"placement"`
	Platform       string                     `xml:"platform,omitempty"`
	Monitoring     instanceMonitoringXML      `xml:"monitoring"`
	Subnet         string                     `xml:"subnetId,omitempty"`
	VPC            string                     `xml:"vpcId,omitempty"`
	Address        string                     `xml:"privateIpAddress,omitempty"`
	IPv6           string                     `xml:"ipv6Address,omitempty"`
	SourceCheck    bool                       `xml:"sourceDestCheck"`
	Groups         wire.Set[groupRefXML]      `xml:"groupSet"`
	StateReason    *reasonXML                 `xml:"stateReason"`
	Architecture   string                     `xml:"architecture"`
	RootType       string                     `xml:"rootDeviceType"`
	RootDevice     string                     `xml:"rootDeviceName"`
	Devices        wire.Set[instanceDevXML]   `xml:"blockDeviceMapping"`
	Virtualization string                     `xml:"virtualizationType"`
	Lifecycle      string                     `xml:"instanceLifecycle,omitempty"`
	SpotRequest    string                     `xml:"spotInstanceRequestId,omitempty"`
	ClientToken    string                     `xml:"clientToken"`
	Tags           wire.Set[tagXML]           `xml:"tagSet"`
	Hypervisor     string                     `xml:"hypervisor"`
	NICs           wire.Set[instanceNICXML]   `xml:"networkInterfaceSet"`
	Profile        *instanceProfileRefXML     `xml:"iamInstanceProfile"`
	EBSOptimized   bool                       `xml:"ebsOptimized"`
	ENA            bool                       `xml:"enaSupport"`
	Reservation    instanceReservationSpecXML `xml:"capacityReservationSpecification"`
	ReservationID  string                     `xml:"capacityReservationId,omitempty"`
	Metadata       metadataXML                `xml:"metadataOptions"`
	Enclave        enabledXML                 `xml:"enclaveOptions"`
}

type instancePlacementXML struct {
	Zone      string `xml:"availabilityZone"`
	ZoneID    string `xml:"availabilityZoneId"`
	GroupName string `xml:"groupName"`
	GroupID   string `xml:"groupId,omitempty"`
	Partition int    `xml:"partitionNumber,omitempty"`
	Tenancy   string `xml:"tenancy"`
}

type instanceMonitoringXML struct {
	State string `xml:"state"`
}

type instanceDevXML struct {
	Device string         `xml:"deviceName"`
	EBS    instanceVolXML `xml:"ebs"`
}

type instanceVolXML struct {
	Volume   string `xml:"volumeId"`
	Status   string `xml:"status"`
	Attached string `xml:"attachTime"`
	Delete   bool   `xml:"deleteOnTermination"`
}

type instanceNICXML struct {
	ID         string                `xml:"networkInterfaceId"`
	Subnet     string                `xml:"subnetId"`
	VPC        string                `xml:"vpcId"`
	Status     string                `xml:"status"`
	Address    string                `xml:"privateIpAddress"`
	PrivateDNS string                `xml:"privateDnsName"`
	IPv6       wire.Set[ipv6XML]     `xml:"ipv6AddressesSet"`
	Groups     wire.Set[groupRefXML] `xml:"groupSet"`
	Attachment attachmentXML         `xml:"attachment"`
	Type       string                `xml:"interfaceType"`
}

type ipv6XML struct {
	Address string `xml:"ipv6Address"`
	Primary bool   `xml:"isPrimaryIpv6"`
}

type attachmentXML struct {
	ID     string `xml:"attachmentId"`
	Device int    `xml:"deviceIndex"`
	Card   int    `xml:"networkCardIndex"`
	Status string `xml:"status"`
	Delete bool   `xml:"deleteOnTermination"`
}

type instanceProfileRefXML struct {
	ARN string `xml:"arn"`
	ID  string `xml:"id"`
}

type instanceReservationSpecXML struct {
	Preference string `xml:"capacityReservationPreference"`
}

// instanceToXML encodes an instance in its state at the time now, for DescribeInstances. A terminated instance has no network and
// no volumes.
func (e *Emulator) instanceToXML(i world.Instance, groups map[string]world.SecurityGroup, now time.Time) instanceXML {
	state := i.State(now)
	out := instanceXML{
		ID: i.ID, Image: i.Image.ID, State: stateXML{state.Code, state.Name}, Type: i.Type, Launched: wire.Time(i.Launched),
		Placement: instancePlacementXML{
			i.Zone, i.ZoneID, i.Data.Placement.GroupName, i.Data.Placement.GroupID, i.Data.Placement.Partition,
			orDefault(i.Data.Placement.Tenancy, "default"),
		},
		Platform: i.Image.Platform, Monitoring: instanceMonitoringXML{"disabled"}, Architecture: i.Arch,
		RootType: "ebs", RootDevice: i.Image.RootDevice, Virtualization: "hvm", Hypervisor: "xen",
		SpotRequest: i.SpotRequest, ClientToken: i.ClientToken, Tags: tagSet(i.Tags),
		EBSOptimized: true, ENA: true, SourceCheck: true,
		Reservation: instanceReservationSpecXML{orDefault(i.Data.ReservationPreference, "open")},
		Metadata:    metadataOf(i.Data.Metadata), Enclave: enabledXML{i.Data.Enclave},
	}
	if i.Data.Monitoring {
		out.Monitoring.State = "enabled"
	}
	if state == world.Pending { // EC2 may not return the partition yet
		out.Placement.Partition = 0
	}
	out.ReservationID = e.runsIn(i)
	switch {
	case i.Capacity == world.Spot:
		out.Lifecycle = "spot"
	case i.ReservationKind == world.ReservationBlock:
		out.Lifecycle = "capacity-block"
	case i.Interruptible:
		out.Lifecycle = "interruptible-capacity-reservation"
	}
	if i.ReasonCode != "" && state != world.Running && state != world.Pending {
		out.StateReason = &reasonXML{i.ReasonCode, i.ReasonCode + ": the instance was ended"}
		at := i.EndsAt
		if state == world.Stopping || state == world.Stopped {
			at = i.StopsAt
		}
		out.Reason = fmt.Sprintf("%s (%s)", i.ReasonCode, at.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	if i.Data.Profile != "" {
		if p, err := e.world.Profile(lastSegment(i.Data.Profile)); err == nil {
			out.Profile = &instanceProfileRefXML{p.ARN, p.ID}
		}
	}
	if state != world.Terminated {
		e.addNetwork(&out, i, groups)
	}
	return out
}

// runsIn returns the reservation in which an instance runs, "" if there is none. An instance keeps running after its reservation
// ends.
func (e *Emulator) runsIn(i world.Instance) string {
	if i.InReservation == "" || !e.activeReservations()[i.InReservation] {
		return ""
	}
	return i.InReservation
}

// activeReservations returns the ids of the reservations that have not ended.
func (e *Emulator) activeReservations() map[string]bool {
	list, _ := e.world.Reservations()
	now, active := e.world.Now(), map[string]bool{}
	for _, r := range list {
		active[r.ID] = r.State(now) == "active"
	}
	return active
}

// addNetwork adds addresses, network interfaces and volumes.
func (e *Emulator) addNetwork(out *instanceXML, i world.Instance, groups map[string]world.SecurityGroup) {
	out.PrivateDNS, out.Address, out.Subnet = i.PrivateDNS(e.world.Region()), i.Address.String(), i.Subnet
	for _, id := range i.Groups {
		out.Groups.Items = append(out.Groups.Items, groupRefXML{id, groups[id].Name})
		out.VPC = groups[id].VPC
	}
	suffix := i.ID[len("i-"):]
	nics := i.Data.NICs
	if len(nics) == 0 {
		nics = []world.NIC{{}}
	}
	for n, nic := range nics {
		out.NICs.Items = append(out.NICs.Items, instanceNICXML{
			ID: fmt.Sprintf("eni-%s%x", suffix[:len(suffix)-1], n), Subnet: i.Subnet, VPC: out.VPC, Status: "in-use",
			Address: out.Address, PrivateDNS: out.PrivateDNS, Groups: out.Groups,
			Attachment: attachmentXML{"eni-attach-" + suffix, nic.Device, nic.Card, "attached", true},
			Type:       orDefault(nic.Type, "interface"),
		})
	}
	if i.IPv6.IsValid() {
		out.IPv6 = i.IPv6.String()
		out.NICs.Items[0].IPv6.Items = []ipv6XML{{out.IPv6, nics[0].PrimaryIPv6}}
	}
	devices := i.Data.BlockDevices
	if len(devices) == 0 {
		devices = []world.BlockDevice{{Device: i.Image.RootDevice, DeleteOnTermination: true}}
	}
	for n, d := range devices {
		out.Devices.Items = append(out.Devices.Items, instanceDevXML{d.Device, instanceVolXML{
			fmt.Sprintf("vol-%s%x", suffix[:len(suffix)-1], n), "attached", wire.Time(i.Launched), d.DeleteOnTermination,
		}})
	}
}

// metadataOf encodes metadata options. Missing ones have EC2's defaults.
func metadataOf(m world.MetadataOptions) metadataXML {
	return metadataXML{
		"applied", orDefault(m.Endpoint, "enabled"), orDefault(m.IPv6, "disabled"), max(1, m.HopLimit),
		orDefault(m.Tokens, "optional"), orDefault(m.Tags, "disabled"),
	}
}

// orDefault returns text, or fallback if text is empty.
func orDefault(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
