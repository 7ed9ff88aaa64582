package awsemu

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type zoneXML struct {
	Name   string `xml:"zoneName"`
	State  string `xml:"zoneState"`
	Region string `xml:"regionName"`
	ID     string `xml:"zoneId"`
	Type   string `xml:"zoneType"`
	OptIn  string `xml:"optInStatus"`
	Group  string `xml:"groupName"`
	Border string `xml:"networkBorderGroup"`
}

// describeAvailabilityZones lists the zones of the region.
func (e *Emulator) describeAvailabilityZones(r *request) (any, *wire.Error) {
	region := e.world.Region()
	zones, failure := wire.Keep(e.world.Zones(), wire.Filters(r.form), func(z catalog.Zone) wire.Lookup {
		return func(name string) ([]string, bool) {
			switch name {
			case "zone-name":
				return one(z.Name)
			case "zone-id":
				return one(z.ID)
			case "zone-type":
				return one("availability-zone")
			case "state":
				return one("available")
			case "region-name":
				return one(region)
			case "opt-in-status":
				return one("opt-in-not-required")
			}
			return nil, false
		}
	})
	if failure != nil {
		return nil, failure
	}
	names, ids := r.form.List("ZoneName"), r.form.List("ZoneId")
	var out struct {
		Zones wire.Set[zoneXML] `xml:"availabilityZoneInfo"`
	}
	for _, z := range zones {
		if len(names) > 0 && !slices.Contains(names, z.Name) || len(ids) > 0 && !slices.Contains(ids, z.ID) {
			continue
		}
		out.Zones.Items = append(out.Zones.Items, zoneXML{
			z.Name, "available", region, z.ID, "availability-zone", "opt-in-not-required", region, region,
		})
	}
	return out, r.form.Err()
}

type subnetXML struct {
	ID        string                 `xml:"subnetId"`
	ARN       string                 `xml:"subnetArn"`
	State     string                 `xml:"state"`
	Owner     string                 `xml:"ownerId"`
	VPC       string                 `xml:"vpcId"`
	CIDR      string                 `xml:"cidrBlock"`
	Free      int                    `xml:"availableIpAddressCount"`
	Zone      string                 `xml:"availabilityZone"`
	ZoneID    string                 `xml:"availabilityZoneId"`
	Default   bool                   `xml:"defaultForAz"`
	MapPublic bool                   `xml:"mapPublicIpOnLaunch"`
	AutoIPv6  bool                   `xml:"assignIpv6AddressOnCreation"`
	IPv6      wire.Set[ipv6RangeXML] `xml:"ipv6CidrBlockAssociationSet"`
	Tags      wire.Set[tagXML]       `xml:"tagSet"`
}

type ipv6RangeXML struct {
	ID    string        `xml:"associationId"`
	CIDR  string        `xml:"ipv6CidrBlock"`
	State rangeStateXML `xml:"ipv6CidrBlockState"`
}

type rangeStateXML struct {
	State string `xml:"state"`
}

// ipv6Ranges returns the IPv6 address range of a subnet, an empty set if it has none.
func ipv6Ranges(s world.Subnet) (out wire.Set[ipv6RangeXML]) {
	if s.IPv6CIDR != "" {
		out.Items = []ipv6RangeXML{{"subnet-cidr-assoc-" + s.ID[len("subnet-"):], s.IPv6CIDR, rangeStateXML{"associated"}}}
	}
	return out
}

type describeSubnetsXML struct {
	Subnets wire.Set[subnetXML] `xml:"subnetSet"`
	Next    string              `xml:"nextToken,omitempty"`
}

// describeSubnets lists subnets.
func (e *Emulator) describeSubnets(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 5, 1000)
	if failure != nil {
		return nil, failure
	}
	subnets := e.world.Subnets()
	subnets, failure = selectIDs(subnets, r.form.List("SubnetId"), func(s world.Subnet) string { return s.ID },
		"InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist")
	if failure != nil {
		return nil, failure
	}
	subnets, failure = wire.Keep(subnets, wire.Filters(r.form), e.subnetLookup)
	if failure != nil {
		return nil, failure
	}
	subnets, next, failure := wire.Cut(subnets, func(s world.Subnet) string { return s.ID }, page)
	if failure != nil {
		return nil, failure
	}
	out := describeSubnetsXML{Next: next}
	for _, s := range subnets {
		out.Subnets.Items = append(out.Subnets.Items, subnetXML{
			ID: s.ID, ARN: fmt.Sprintf("arn:%s:ec2:%s:%s:subnet/%s", e.world.Partition(), e.world.Region(), e.world.Account(), s.ID),
			State: "available", Owner: e.world.Account(), VPC: s.VPC, CIDR: s.CIDR, Free: s.Free,
			Zone: s.Zone, ZoneID: s.ZoneID, MapPublic: s.Public, AutoIPv6: s.IPv6CIDR != "", IPv6: ipv6Ranges(s), Tags: tagSet(s.Tags),
		})
	}
	return out, r.form.Err()
}

// subnetLookup returns the values of a subnet for the filters of DescribeSubnets.
func (e *Emulator) subnetLookup(s world.Subnet) wire.Lookup {
	return func(name string) ([]string, bool) {
		switch name {
		case "subnet-id":
			return one(s.ID)
		case "vpc-id":
			return one(s.VPC)
		case "availability-zone", "availabilityZone":
			return one(s.Zone)
		case "availability-zone-id", "availabilityZoneId":
			return one(s.ZoneID)
		case "cidr-block", "cidr", "cidrBlock":
			return one(s.CIDR)
		case "state":
			return one("available")
		case "ipv6-cidr-block-association.ipv6-cidr-block":
			return one(s.IPv6CIDR)
		case "owner-id":
			return one(e.world.Account())
		case "available-ip-address-count":
			return one(strconv.Itoa(s.Free))
		case "default-for-az":
			return one("false")
		case "map-public-ip-on-launch":
			return one(boolText(s.Public))
		}
		return wire.TagLookup(s.Tags, name)
	}
}

type groupXML struct {
	Owner       string           `xml:"ownerId"`
	ID          string           `xml:"groupId"`
	Name        string           `xml:"groupName"`
	Description string           `xml:"groupDescription"`
	VPC         string           `xml:"vpcId"`
	Tags        wire.Set[tagXML] `xml:"tagSet"`
}

type describeGroupsXML struct {
	Groups wire.Set[groupXML] `xml:"securityGroupInfo"`
	Next   string             `xml:"nextToken,omitempty"`
}

// describeSecurityGroups lists security groups.
func (e *Emulator) describeSecurityGroups(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 5, 1000)
	if failure != nil {
		return nil, failure
	}
	groups := e.world.SecurityGroups()
	groups, failure = selectIDs(groups, r.form.List("GroupId"), func(g world.SecurityGroup) string { return g.ID },
		"InvalidGroup.NotFound", "The security group '%s' does not exist")
	if failure != nil {
		return nil, failure
	}
	groups, failure = selectIDs(groups, r.form.List("GroupName"), func(g world.SecurityGroup) string { return g.Name },
		"InvalidGroup.NotFound", "The security group '%s' does not exist")
	if failure != nil {
		return nil, failure
	}
	groups, failure = wire.Keep(groups, wire.Filters(r.form), e.groupLookup)
	if failure != nil {
		return nil, failure
	}
	groups, next, failure := wire.Cut(groups, func(g world.SecurityGroup) string { return g.ID }, page)
	if failure != nil {
		return nil, failure
	}
	out := describeGroupsXML{Next: next}
	for _, g := range groups {
		out.Groups.Items = append(out.Groups.Items, groupXML{
			e.world.Account(), g.ID, g.Name, g.Description, g.VPC, tagSet(g.Tags),
		})
	}
	return out, r.form.Err()
}

// groupLookup returns the values of a security group for the filters of DescribeSecurityGroups.
func (e *Emulator) groupLookup(g world.SecurityGroup) wire.Lookup {
	return func(name string) ([]string, bool) {
		switch name {
		case "group-id":
			return one(g.ID)
		case "group-name":
			return one(g.Name)
		case "description":
			return one(g.Description)
		case "vpc-id":
			return one(g.VPC)
		case "owner-id":
			return one(e.world.Account())
		}
		return wire.TagLookup(g.Tags, name)
	}
}

// selectIDs returns the items with the given ids, or all items if no id is given. An id that does not exist is an error.
func selectIDs[T any](items []T, ids []string, id func(T) string, code, format string) ([]T, *wire.Error) {
	if len(ids) == 0 {
		return items, nil
	}
	for _, want := range ids {
		if !slices.ContainsFunc(items, func(t T) bool { return id(t) == want }) {
			return nil, wire.Errorf(code, format, want)
		}
	}
	return slices.DeleteFunc(items, func(t T) bool { return !slices.Contains(ids, id(t)) }), nil
}
