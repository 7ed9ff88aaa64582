package awsemu

import (
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type templateDataXML struct {
	Image        string                    `xml:"imageId,omitempty"`
	InstanceType string                    `xml:"instanceType,omitempty"`
	KeyName      string                    `xml:"keyName,omitempty"`
	UserData     string                    `xml:"userData,omitempty"`
	EBSOptimized bool                      `xml:"ebsOptimized,omitempty"`
	Profile      *namedXML                 `xml:"iamInstanceProfile"`
	Monitoring   enabledXML                `xml:"monitoring"`
	Devices      *wire.Set[templateDevXML] `xml:"blockDeviceMappingSet"`
	Metadata     *metadataXML              `xml:"metadataOptions"`
	NICs         *wire.Set[templateNICXML] `xml:"networkInterfaceSet"`
	Groups       *wire.Set[string]         `xml:"securityGroupIdSet"`
	Tags         *wire.Set[tagSpecXML]     `xml:"tagSpecificationSet"`
	Placement    *templatePlacementXML     `xml:"placement"`
	Enclave      *enabledXML               `xml:"enclaveOptions"`
	CPU          *cpuOptionsXML            `xml:"cpuOptions"`
	Reservation  *templateReservationXML   `xml:"capacityReservationSpecification"`
	Market       *marketXML                `xml:"instanceMarketOptions"`
}

type namedXML struct {
	Name string `xml:"name"`
}

type enabledXML struct {
	Enabled bool `xml:"enabled"`
}

type templateDevXML struct {
	Device string      `xml:"deviceName"`
	EBS    templateEBS `xml:"ebs"`
}

type templateEBS struct {
	Delete     bool   `xml:"deleteOnTermination"`
	Encrypted  bool   `xml:"encrypted"`
	IOPS       int    `xml:"iops,omitempty"`
	KMSKey     string `xml:"kmsKeyId,omitempty"`
	Snapshot   string `xml:"snapshotId,omitempty"`
	Throughput int    `xml:"throughput,omitempty"`
	InitRate   int    `xml:"volumeInitializationRate,omitempty"`
	GiB        int    `xml:"volumeSize,omitempty"`
	Type       string `xml:"volumeType,omitempty"`
}

type metadataXML struct {
	State    string `xml:"state,omitempty"`
	Endpoint string `xml:"httpEndpoint,omitempty"`
	IPv6     string `xml:"httpProtocolIpv6,omitempty"`
	HopLimit int    `xml:"httpPutResponseHopLimit,omitempty"`
	Tokens   string `xml:"httpTokens,omitempty"`
	Tags     string `xml:"instanceMetadataTags,omitempty"`
}

type templateNICXML struct {
	Device       int              `xml:"deviceIndex"`
	Card         int              `xml:"networkCardIndex"`
	Type         string           `xml:"interfaceType,omitempty"`
	Subnet       string           `xml:"subnetId,omitempty"`
	Groups       templateNICGroup `xml:"groupSet"`
	PublicIP     *bool            `xml:"associatePublicIpAddress"`
	IPv4Prefixes int              `xml:"ipv4PrefixCount,omitempty"`
	IPv6Prefixes int              `xml:"ipv6PrefixCount,omitempty"`
	IPv6Count    int              `xml:"ipv6AddressCount,omitempty"`
	PrimaryIPv6  *bool            `xml:"primaryIpv6"`
}

type templateNICGroup struct {
	IDs []string `xml:"groupId"`
}

type tagSpecXML struct {
	Resource string           `xml:"resourceType"`
	Tags     wire.Set[tagXML] `xml:"tagSet"`
}

type templatePlacementXML struct {
	Tenancy   string `xml:"tenancy,omitempty"`
	GroupID   string `xml:"groupId,omitempty"`
	GroupName string `xml:"groupName,omitempty"`
	Partition int    `xml:"partitionNumber,omitempty"`
}

type cpuOptionsXML struct {
	Nested string `xml:"nestedVirtualization,omitempty"`
}

type templateReservationXML struct {
	Preference string                `xml:"capacityReservationPreference,omitempty"`
	Target     *reservationTargetXML `xml:"capacityReservationTarget"`
}

type reservationTargetXML struct {
	ID string `xml:"capacityReservationId"`
}

type marketXML struct {
	Type string `xml:"marketType"`
}

// templateToXML encodes the data of a launch template version.
func templateToXML(d world.TemplateData) templateDataXML {
	out := templateDataXML{
		Image: d.ImageID, InstanceType: d.InstanceType, KeyName: d.KeyName, UserData: d.UserData,
		EBSOptimized: d.EBSOptimized, Monitoring: enabledXML{d.Monitoring},
	}
	if d.Profile != "" {
		out.Profile = &namedXML{d.Profile}
	}
	if d.Metadata != (world.MetadataOptions{}) {
		m := d.Metadata
		out.Metadata = &metadataXML{"", m.Endpoint, m.IPv6, m.HopLimit, m.Tokens, m.Tags}
	}
	if len(d.SecurityGroups) > 0 {
		set := wire.SetOf(d.SecurityGroups...)
		out.Groups = &set
	}
	if d.Placement != (world.Placement{}) {
		p := d.Placement
		out.Placement = &templatePlacementXML{p.Tenancy, p.GroupID, p.GroupName, p.Partition}
	}
	if d.Enclave {
		out.Enclave = &enabledXML{true}
	}
	if d.NestedVirtualization != "" {
		out.CPU = &cpuOptionsXML{d.NestedVirtualization}
	}
	if d.MarketType != "" {
		out.Market = &marketXML{d.MarketType}
	}
	addTemplateLists(&out, d)
	return out
}

// addTemplateLists adds the reservation and the parts of a template that are
// lists.
func addTemplateLists(out *templateDataXML, d world.TemplateData) {
	if d.ReservationPreference != "" || d.ReservationID != "" {
		out.Reservation = &templateReservationXML{Preference: d.ReservationPreference}
		if d.ReservationID != "" {
			out.Reservation.Target = &reservationTargetXML{d.ReservationID}
		}
	}
	if len(d.BlockDevices) > 0 {
		out.Devices = &wire.Set[templateDevXML]{}
	}
	for _, b := range d.BlockDevices {
		out.Devices.Items = append(out.Devices.Items, templateDevXML{b.Device, templateEBS{
			b.DeleteOnTermination, b.Encrypted, b.IOPS, b.KMSKey, b.SnapshotID, b.Throughput, b.InitRate, b.SizeGiB, b.VolumeType,
		}})
	}
	if len(d.NICs) > 0 {
		out.NICs = &wire.Set[templateNICXML]{}
	}
	for _, n := range d.NICs {
		out.NICs.Items = append(out.NICs.Items, templateNICXML{
			n.Device, n.Card, n.Type, n.Subnet, templateNICGroup{n.Groups}, n.PublicIP, n.IPv4Prefixes, n.IPv6Prefixes, n.IPv6Address, yes(n.PrimaryIPv6),
		})
	}
	if len(d.Tags) > 0 {
		out.Tags = &wire.Set[tagSpecXML]{}
	}
	for _, resource := range sortedKeys(d.Tags) {
		out.Tags.Items = append(out.Tags.Items, tagSpecXML{resource, tagSet(d.Tags[resource])})
	}
}

// yes returns a pointer to true, or nil for false. For nil, the XML element is omitted.
func yes(b bool) *bool {
	if !b {
		return nil
	}
	return &b
}
