package awsemu

import (
	"slices"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type describeStatusXML struct {
	Statuses wire.Set[instanceStatusXML] `xml:"instanceStatusSet"`
	Next     string                      `xml:"nextToken,omitempty"`
}

type instanceStatusXML struct {
	ID       string             `xml:"instanceId"`
	Zone     string             `xml:"availabilityZone"`
	ZoneID   string             `xml:"availabilityZoneId"`
	State    stateXML           `xml:"instanceState"`
	Instance checksXML          `xml:"instanceStatus"`
	System   checksXML          `xml:"systemStatus"`
	EBS      checksXML          `xml:"attachedEbsStatus"`
	Events   wire.Set[eventXML] `xml:"eventsSet"`
}

type checksXML struct {
	Status  string             `xml:"status"`
	Details wire.Set[checkXML] `xml:"details"`
}

type checkXML struct {
	Name   string `xml:"name"`
	Status string `xml:"status"`
}

type eventXML struct {
	Code string `xml:"code"`
}

// describeInstanceStatus lists the status checks of running instances, and of
// all with IncludeAllInstances. Every running machine is healthy.
func (e *Emulator) describeInstanceStatus(r *request) (any, *wire.Error) {
	all, now := r.form.Bool("IncludeAllInstances"), e.world.Now()
	page, failure := wire.PageOf(r.form, 5, 1000)
	if failure != nil {
		return nil, failure
	}
	ids := r.form.List("InstanceId")
	if failure := e.world.CheckInstances(ids); failure != nil {
		return nil, failure
	}
	var statuses []instanceStatusXML
	for _, i := range e.world.Instances(true) {
		state := i.State(now)
		if len(ids) > 0 && !slices.Contains(ids, i.ID) || !all && state != world.Running {
			continue
		}
		checks := checksOf(state)
		statuses = append(statuses, instanceStatusXML{
			ID: i.ID, Zone: i.Zone, ZoneID: i.ZoneID, State: stateXML{state.Code, state.Name},
			Instance: checks, System: checks, EBS: checks,
		})
	}
	statuses, failure = wire.Keep(statuses, wire.Filters(r.form), statusLookup)
	if failure != nil {
		return nil, failure
	}
	slices.SortFunc(statuses, func(a, b instanceStatusXML) int { return compareStrings(a.ID, b.ID) })
	statuses, next, failure := wire.Cut(statuses, func(s instanceStatusXML) string { return s.ID }, page)
	if failure != nil {
		return nil, failure
	}
	return describeStatusXML{wire.SetOf(statuses...), next}, r.form.Err()
}

// checksOf returns the status checks of an instance in a state.
func checksOf(state world.State) checksXML {
	if state != world.Running {
		return checksXML{Status: "not-applicable"}
	}
	return checksXML{"ok", wire.SetOf(checkXML{"reachability", "passed"})}
}

// statusLookup answers the filters of DescribeInstanceStatus.
func statusLookup(s instanceStatusXML) wire.Lookup {
	return func(name string) ([]string, bool) {
		switch name {
		case "availability-zone":
			return one(s.Zone)
		case "instance-state-name":
			return one(s.State.Name)
		case "instance-status.status":
			return one(s.Instance.Status)
		case "system-status.status":
			return one(s.System.Status)
		case "attached-ebs-status.status":
			return one(s.EBS.Status)
		case "instance-status.reachability", "system-status.reachability", "attached-ebs-status.reachability":
			var values []string
			for _, d := range s.Instance.Details.Items {
				values = append(values, d.Status)
			}
			return values, true
		case "event.code":
			return nil, true
		}
		return nil, false
	}
}

// describeCapacityReservations lists none: the account has bought none.
func (e *Emulator) describeCapacityReservations(r *request) (any, *wire.Error) {
	if ids := r.form.List("CapacityReservationId"); len(ids) > 0 {
		return nil, wire.Errorf("InvalidCapacityReservationId.NotFound",
			"The capacity reservation '%s' does not exist", ids[0])
	}
	return struct {
		Set wire.Set[string] `xml:"capacityReservationSet"`
	}{}, nil
}

// describePlacementGroups lists none: the account has made none.
func (e *Emulator) describePlacementGroups(r *request) (any, *wire.Error) {
	for _, key := range []string{"GroupName", "GroupId"} {
		if names := r.form.List(key); len(names) > 0 {
			return nil, wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", names[0])
		}
	}
	return struct {
		Set wire.Set[string] `xml:"placementGroupSet"`
	}{}, nil
}
