package awsemu

import (
	"fmt"
	"slices"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// valueXML is an instance attribute with a single value.
type valueXML struct {
	Value string `xml:"value,omitempty"`
}

type attributeXML struct {
	ID          string                    `xml:"instanceId"`
	UserData    *valueXML                 `xml:"userData"`
	Type        *valueXML                 `xml:"instanceType"`
	RootDevice  *valueXML                 `xml:"rootDeviceName"`
	Shutdown    *valueXML                 `xml:"instanceInitiatedShutdownBehavior"`
	NoAPIEnd    *valueXML                 `xml:"disableApiTermination"`
	Optimized   *valueXML                 `xml:"ebsOptimized"`
	SourceCheck *valueXML                 `xml:"sourceDestCheck"`
	ENA         *valueXML                 `xml:"enaSupport"`
	Groups      *wire.Set[groupRefXML]    `xml:"groupSet"`
	Devices     *wire.Set[instanceDevXML] `xml:"blockDeviceMapping"`
}

// describeInstanceAttribute returns one attribute of one instance.
func (e *Emulator) describeInstanceAttribute(r *request) (any, *wire.Error) {
	id, name := r.form.String("InstanceId"), r.form.String("Attribute")
	all := e.world.Instances(true)
	n := slices.IndexFunc(all, func(i world.Instance) bool { return i.ID == id })
	if n < 0 {
		return nil, wire.Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
	}
	whole := e.instanceToXML(all[n], e.groupsByID(), e.world.Now())
	out := attributeXML{ID: id}
	value := func(v string) *valueXML { return &valueXML{v} }
	switch name {
	case "userData":
		out.UserData = value(all[n].Data.UserData)
	case "instanceType":
		out.Type = value(whole.Type)
	case "rootDeviceName":
		out.RootDevice = value(whole.RootDevice)
	case "instanceInitiatedShutdownBehavior":
		out.Shutdown = value("stop")
	case "disableApiTermination":
		out.NoAPIEnd = value("false")
	case "ebsOptimized":
		out.Optimized = value(boolText(whole.EBSOptimized))
	case "sourceDestCheck":
		out.SourceCheck = value(boolText(whole.SourceCheck))
	case "enaSupport":
		out.ENA = value(boolText(whole.ENA))
	case "groupSet":
		out.Groups = &whole.Groups
	case "blockDeviceMapping":
		out.Devices = &whole.Devices
	default:
		return nil, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter attribute is invalid. Unknown attribute.", name)
	}
	return out, r.form.Err()
}

// modifyInstanceAttribute replaces the security groups of an instance. It changes no other attribute.
func (e *Emulator) modifyInstanceAttribute(r *request) (any, *wire.Error) {
	id, groups := r.form.String("InstanceId"), r.form.List("GroupId")
	if failure := r.form.Err(); failure != nil {
		return nil, failure
	}
	if failure := e.world.SetGroups(id, groups); failure != nil {
		return nil, failure
	}
	return returnXML{true}, nil
}

type regionXML struct {
	Name     string `xml:"regionName"`
	Endpoint string `xml:"regionEndpoint"`
	OptIn    string `xml:"optInStatus"`
}

// describeRegions lists the account's region. There is no other.
func (e *Emulator) describeRegions(r *request) (any, *wire.Error) {
	name := e.world.Region()
	for _, asked := range r.form.List("RegionName") {
		if asked != name {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid region provided: [%s]", asked)
		}
	}
	var out struct {
		Regions wire.Set[regionXML] `xml:"regionInfo"`
	}
	out.Regions.Items = []regionXML{{name, fmt.Sprintf("ec2.%s.%s", name, e.world.Domain()), "opt-in-not-required"}}
	return out, r.form.Err()
}

type vpcXML struct {
	ID      string           `xml:"vpcId"`
	Owner   string           `xml:"ownerId"`
	State   string           `xml:"state"`
	CIDR    string           `xml:"cidrBlock"`
	Tenancy string           `xml:"instanceTenancy"`
	Default bool             `xml:"isDefault"`
	Tags    wire.Set[tagXML] `xml:"tagSet"`
}

// describeVpcs lists the account's only VPC.
func (e *Emulator) describeVpcs(r *request) (any, *wire.Error) {
	id := e.world.Subnets()[0].VPC
	vpcs := []vpcXML{{
		ID: id, Owner: e.world.Account(), State: "available", CIDR: world.VPCRange, Tenancy: "default",
		Tags: tagSet(map[string]string{"Name": e.cfg.Cluster.Name}),
	}}
	vpcs, failure := selectIDs(vpcs, r.form.List("VpcId"), func(v vpcXML) string { return v.ID },
		"InvalidVpcID.NotFound", "The vpc ID '%s' does not exist")
	if failure != nil {
		return nil, failure
	}
	vpcs, failure = wire.Keep(vpcs, wire.Filters(r.form), func(v vpcXML) wire.Lookup {
		return func(name string) ([]string, bool) {
			switch name {
			case "vpc-id":
				return one(v.ID)
			case "cidr", "cidr-block", "cidrBlock":
				return one(v.CIDR)
			case "state":
				return one(v.State)
			case "owner-id":
				return one(v.Owner)
			case "is-default", "isDefault":
				return one(boolText(v.Default))
			}
			return wire.TagLookup(map[string]string{"Name": e.cfg.Cluster.Name}, name)
		}
	})
	if failure != nil {
		return nil, failure
	}
	var out struct {
		VPCs wire.Set[vpcXML] `xml:"vpcSet"`
	}
	out.VPCs.Items = vpcs
	return out, r.form.Err()
}

type taggedXML struct {
	Resource string `xml:"resourceId"`
	Kind     string `xml:"resourceType"`
	Key      string `xml:"key"`
	Value    string `xml:"value"`
}

// describeTags lists the tags of instances, subnets and security groups.
func (e *Emulator) describeTags(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 5, 1000)
	if failure != nil {
		return nil, failure
	}
	var all []taggedXML
	add := func(kind, id string, tags map[string]string) {
		for _, k := range sortedKeys(tags) {
			all = append(all, taggedXML{id, kind, k, tags[k]})
		}
	}
	for _, i := range e.world.Instances(true) {
		add("instance", i.ID, i.Tags)
	}
	for _, s := range e.world.Subnets() {
		add("subnet", s.ID, s.Tags)
	}
	for _, g := range e.world.SecurityGroups() {
		add("security-group", g.ID, g.Tags)
	}
	all, failure = wire.Keep(all, wire.Filters(r.form), func(t taggedXML) wire.Lookup {
		return func(name string) ([]string, bool) {
			switch name {
			case "resource-id":
				return one(t.Resource)
			case "resource-type":
				return one(t.Kind)
			case "key":
				return one(t.Key)
			case "value":
				return one(t.Value)
			}
			return nil, false
		}
	})
	if failure != nil {
		return nil, failure
	}
	key := func(t taggedXML) string { return t.Resource + "/" + t.Key }
	slices.SortFunc(all, func(a, b taggedXML) int { return compareStrings(key(a), key(b)) })
	all, next, failure := wire.Cut(all, key, page)
	if failure != nil {
		return nil, failure
	}
	var out struct {
		Tags wire.Set[taggedXML] `xml:"tagSet"`
		Next string              `xml:"nextToken,omitempty"`
	}
	out.Tags.Items, out.Next = all, next
	return out, r.form.Err()
}
