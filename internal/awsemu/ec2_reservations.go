package awsemu

import (
	"slices"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type describeReservationsXML struct {
	Reservations wire.Set[capacityReservationXML] `xml:"capacityReservationSet"`
	Next         string                           `xml:"nextToken,omitempty"`
}

type capacityReservationXML struct {
	ID            string           `xml:"capacityReservationId"`
	Owner         string           `xml:"ownerId"`
	ARN           string           `xml:"capacityReservationArn"`
	Type          string           `xml:"instanceType"`
	Platform      string           `xml:"instancePlatform"`
	Zone          string           `xml:"availabilityZone"`
	ZoneID        string           `xml:"availabilityZoneId"`
	Tenancy       string           `xml:"tenancy"`
	Total         int              `xml:"totalInstanceCount"`
	Available     int              `xml:"availableInstanceCount"`
	State         string           `xml:"state"`
	Start         string           `xml:"startDate"`
	End           string           `xml:"endDate,omitempty"`
	EndType       string           `xml:"endDateType"`
	Match         string           `xml:"instanceMatchCriteria"`
	Kind          string           `xml:"reservationType"`
	Interruptible bool             `xml:"interruptible"`
	Created       string           `xml:"createDate"`
	Tags          wire.Set[tagXML] `xml:"tagSet"`
}

// describeCapacityReservations lists capacity reservations, sorted by id.
func (e *Emulator) describeCapacityReservations(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 1, 1000)
	if failure != nil {
		return nil, failure
	}
	list, available := e.world.Reservations()
	var all []capacityReservationXML
	for n, c := range list {
		all = append(all, e.capacityReservationToXML(c, available[n]))
	}
	if ids := r.form.List("CapacityReservationId"); len(ids) > 0 {
		for _, id := range ids {
			if !slices.ContainsFunc(all, func(c capacityReservationXML) bool { return c.ID == id }) {
				return nil, wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist", id)
			}
		}
		all = slices.DeleteFunc(all, func(c capacityReservationXML) bool { return !slices.Contains(ids, c.ID) })
	}
	if all, failure = wire.Keep(all, wire.Filters(r.form), reservationLookup); failure != nil {
		return nil, failure
	}
	slices.SortFunc(all, func(a, b capacityReservationXML) int { return compareStrings(a.ID, b.ID) })
	all, next, failure := wire.Cut(all, func(c capacityReservationXML) string { return c.ID }, page)
	if failure != nil {
		return nil, failure
	}
	return describeReservationsXML{wire.SetOf(all...), next}, r.form.Err()
}

func (e *Emulator) capacityReservationToXML(c world.Reservation, available int) capacityReservationXML {
	out := capacityReservationXML{
		ID: c.ID, Owner: c.Owner, Type: c.Type, Platform: "Linux/UNIX", Zone: c.Zone, ZoneID: c.ZoneID, Tenancy: "default",
		ARN:   "arn:" + e.world.Partition() + ":ec2:" + e.world.Region() + ":" + c.Owner + ":capacity-reservation/" + c.ID,
		Total: c.Total, Available: available, State: c.State(e.world.Now()), Start: wire.Time(c.Start), Created: wire.Time(c.Start),
		EndType: "unlimited", Match: c.Match, Kind: c.Kind, Interruptible: c.Interruptible, Tags: tagSet(c.Tags),
	}
	if !c.End.IsZero() {
		out.End, out.EndType = wire.Time(c.End), "limited"
	}
	return out
}

// reservationLookup returns the values of a reservation for the filters of DescribeCapacityReservations.
func reservationLookup(c capacityReservationXML) wire.Lookup {
	return func(name string) ([]string, bool) {
		switch name {
		case "state":
			return one(c.State)
		case "owner-id":
			return one(c.Owner)
		case "instance-type":
			return one(c.Type)
		case "availability-zone":
			return one(c.Zone)
		case "instance-match-criteria":
			return one(c.Match)
		case "tenancy":
			return one(c.Tenancy)
		}
		tags := map[string]string{}
		for _, t := range c.Tags.Items {
			tags[t.Key] = t.Value
		}
		return wire.TagLookup(tags, name)
	}
}

type describePlacementXML struct {
	Groups wire.Set[placementGroupXML] `xml:"placementGroupSet"`
}

type placementGroupXML struct {
	ID          string           `xml:"groupId"`
	Name        string           `xml:"groupName"`
	ARN         string           `xml:"groupArn"`
	Strategy    string           `xml:"strategy"`
	State       string           `xml:"state"`
	Partitions  int              `xml:"partitionCount,omitempty"`
	SpreadLevel string           `xml:"spreadLevel,omitempty"`
	Tags        wire.Set[tagXML] `xml:"tagSet"`
}

// describePlacementGroups lists placement groups, without pages.
func (e *Emulator) describePlacementGroups(r *request) (any, *wire.Error) {
	var all []placementGroupXML
	for _, g := range e.world.PlacementGroups() {
		x := placementGroupXML{
			ID: g.ID, Name: g.Name, Strategy: g.Strategy, State: "available", Partitions: g.Partitions, Tags: tagSet(g.Tags),
			ARN: "arn:" + e.world.Partition() + ":ec2:" + e.world.Region() + ":" + e.world.Account() + ":placement-group/" + g.Name,
		}
		if g.Strategy == "spread" {
			x.SpreadLevel = "rack"
		}
		all = append(all, x)
	}
	for _, by := range []struct {
		key string
		of  func(placementGroupXML) string
	}{
		{"GroupName", func(g placementGroupXML) string { return g.Name }},
		{"GroupId", func(g placementGroupXML) string { return g.ID }},
	} {
		wanted := r.form.List(by.key)
		for _, want := range wanted {
			if !slices.ContainsFunc(all, func(g placementGroupXML) bool { return by.of(g) == want }) {
				return nil, wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", want)
			}
		}
		if len(wanted) > 0 {
			all = slices.DeleteFunc(all, func(g placementGroupXML) bool { return !slices.Contains(wanted, by.of(g)) })
		}
	}
	all, failure := wire.Keep(all, wire.Filters(r.form), placementLookup)
	if failure != nil {
		return nil, failure
	}
	return describePlacementXML{wire.SetOf(all...)}, nil
}

// placementLookup returns the values of a placement group for the filters of DescribePlacementGroups.
func placementLookup(g placementGroupXML) wire.Lookup {
	return func(name string) ([]string, bool) {
		switch name {
		case "state":
			return one(g.State)
		case "strategy":
			return one(g.Strategy)
		case "group-name":
			return one(g.Name)
		case "group-arn":
			return one(g.ARN)
		case "spread-level":
			return one(g.SpreadLevel)
		}
		tags := map[string]string{}
		for _, t := range g.Tags.Items {
			tags[t.Key] = t.Value
		}
		return wire.TagLookup(tags, name)
	}
}
