package awsemu

import (
	"slices"
	"time"

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
	Since  string `xml:"impairedSince,omitempty"`
}

type eventXML struct {
	Code        string `xml:"code"`
	Description string `xml:"description"`
	NotBefore   string `xml:"notBefore"`
}

// describeInstanceStatus lists the status checks of running instances, or of all instances with IncludeAllInstances.
// A running instance is healthy unless a control request has made its checks fail.
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
		x := instanceStatusXML{
			ID: i.ID, Zone: i.Zone, ZoneID: i.ZoneID, State: stateXML{state.Code, state.Name},
			Instance: checksOf(state, i.Health.Instance), System: checksOf(state, i.Health.System), EBS: checksOf(state, time.Time{}),
		}
		for _, s := range i.Health.Events {
			x.Events.Items = append(x.Events.Items, eventXML{s.Code, s.Description, wire.Time(s.NotBefore)})
		}
		statuses = append(statuses, x)
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

// checksOf returns a status check of an instance in the given state. The check has failed since the given time, or passes if that
// is zero.
func checksOf(state world.State, since time.Time) checksXML {
	switch {
	case state != world.Running:
		return checksXML{Status: "not-applicable"}
	case !since.IsZero():
		return checksXML{"impaired", wire.SetOf(checkXML{"reachability", "failed", wire.Time(since)})}
	}
	return checksXML{"ok", wire.SetOf(checkXML{Name: "reachability", Status: "passed"})}
}

// statusLookup returns the values of a status for the filters of DescribeInstanceStatus.
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
		case "instance-status.reachability":
			return details(s.Instance), true
		case "system-status.reachability":
			return details(s.System), true
		case "attached-ebs-status.reachability":
			return details(s.EBS), true
		case "event.code":
			var values []string
			for _, e := range s.Events.Items {
				values = append(values, e.Code)
			}
			return values, true
		}
		return nil, false
	}
}

func details(c checksXML) []string {
	var values []string
	for _, d := range c.Details.Items {
		values = append(values, d.Status)
	}
	return values
}
