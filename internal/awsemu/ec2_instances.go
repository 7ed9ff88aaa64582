package awsemu

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

type describeInstancesXML struct {
	Reservations wire.Set[reservationXML] `xml:"reservationSet"`
	Next         string                   `xml:"nextToken,omitempty"`
}

// describeInstances lists instances in order of launch, grouped by reservation.
func (e *Emulator) describeInstances(r *request) (any, *wire.Error) {
	instances, next, failure := e.selectInstances(r, 5, 1000)
	if failure != nil {
		return nil, failure
	}
	out := describeInstancesXML{Next: next}
	groups, now := e.groupsByID(), e.world.Now()
	index := map[string]int{}
	for _, i := range instances {
		n, ok := index[i.ReservationID]
		if !ok {
			n = len(out.Reservations.Items)
			index[i.ReservationID] = n
			out.Reservations.Items = append(out.Reservations.Items, reservationXML{ID: i.ReservationID, Owner: e.world.Account()})
		}
		set := &out.Reservations.Items[n].Instances
		set.Items = append(set.Items, e.instanceToXML(i, groups, now))
	}
	return out, r.form.Err()
}

// reservationOf encodes instances of one launch.
func (e *Emulator) reservationOf(made []world.Instance) reservationXML {
	groups, now := e.groupsByID(), e.world.Now()
	out := reservationXML{ID: made[0].ReservationID, Owner: e.world.Account()}
	for _, i := range made {
		out.Instances.Items = append(out.Instances.Items, e.instanceToXML(i, groups, now))
	}
	return out
}

// groupsByID returns the security groups by id.
func (e *Emulator) groupsByID() map[string]world.SecurityGroup {
	out := map[string]world.SecurityGroup{}
	for _, g := range e.world.SecurityGroups() {
		out[g.ID] = g
	}
	return out
}

// selectInstances returns the page of instances that a request selects by ids, filters and token, and the token of the next page.
func (e *Emulator) selectInstances(r *request, low, high int) ([]world.Instance, string, *wire.Error) {
	page, failure := wire.PageOf(r.form, low, high)
	if failure != nil {
		return nil, "", failure
	}
	ids := r.form.List("InstanceId")
	if len(ids) > 0 {
		if r.form.Has("MaxResults") {
			return nil, "", wire.Errorf("InvalidParameterCombination",
				"The parameter instancesSet cannot be used with the parameter maxResults")
		}
		if failure := e.world.CheckInstances(ids); failure != nil {
			return nil, "", failure
		}
	}
	instances := e.world.Instances(true)
	if len(ids) > 0 {
		wanted := map[string]bool{}
		for _, id := range ids {
			wanted[id] = true
		}
		instances = slices.DeleteFunc(instances, func(i world.Instance) bool { return !wanted[i.ID] })
	}
	groups := e.groupsByID()
	instances, failure = wire.Keep(instances, wire.Filters(r.form), func(i world.Instance) wire.Lookup {
		return e.instanceLookup(i, groups)
	})
	if failure != nil {
		return nil, "", failure
	}
	// The number is padded with zeros, so that its text sorts like the number.
	key := func(i world.Instance) string { return fmt.Sprintf("%016d", i.Sequence) }
	return wire.Cut(instances, key, page)
}

// instanceLookup returns the values of an instance for the filters of DescribeInstances.
func (e *Emulator) instanceLookup(i world.Instance, groups map[string]world.SecurityGroup) wire.Lookup {
	return func(name string) ([]string, bool) {
		if values, ok := e.instanceStateFilter(i, name); ok {
			return values, true
		}
		switch name {
		case "instance-id":
			return one(i.ID)
		case "instance-type":
			return one(i.Type)
		case "image-id":
			return one(i.Image.ID)
		case "availability-zone":
			return one(i.Zone)
		case "availability-zone-id":
			return one(i.ZoneID)
		case "subnet-id", "network-interface.subnet-id":
			return one(i.Subnet)
		case "private-dns-name":
			return one(i.PrivateDNS(e.world.Region()))
		case "private-ip-address":
			return one(i.Address.String())
		case "reservation-id":
			return one(i.ReservationID)
		case "owner-id":
			return one(e.world.Account())
		case "architecture":
			return one(i.Arch)
		case "client-token":
			return one(i.ClientToken)
		case "spot-instance-request-id":
			return one(i.SpotRequest)
		case "iam-instance-profile.name":
			return one(lastSegment(i.Data.Profile))
		case "instance.group-id", "network-interface.group-id":
			return i.Groups, true
		case "instance.group-name", "vpc-id":
			var values []string
			for _, id := range i.Groups {
				values = append(values, map[string]string{"vpc-id": groups[id].VPC, "instance.group-name": groups[id].Name}[name])
			}
			return values, true
		}
		return wire.TagLookup(i.Tags, name)
	}
}

// instanceStateFilter returns the values of an instance for the filters by state, lifecycle, launch
// time, tenancy, platform and state reason. It returns false for other filters.
func (e *Emulator) instanceStateFilter(i world.Instance, name string) ([]string, bool) {
	switch name {
	case "instance-state-name":
		return one(i.State(e.world.Now()).Name)
	case "instance-state-code":
		return one(strconv.Itoa(i.State(e.world.Now()).Code))
	case "instance-lifecycle":
		if i.Capacity == world.Spot {
			return one("spot")
		}
		return nil, true
	case "launch-time":
		return one(wire.Time(i.Launched))
	case "tenancy":
		return one(orDefault(i.Data.Placement.Tenancy, "default"))
	case "platform":
		return one(i.Image.Platform)
	case "state-reason-code":
		return one(i.ReasonCode)
	}
	return nil, false
}

// lastSegment returns the text after the last slash, which is the name in an ARN.
func lastSegment(text string) string { return text[strings.LastIndex(text, "/")+1:] }

type stateChangesXML struct {
	Instances wire.Set[stateChangeXML] `xml:"instancesSet"`
}

type stateChangeXML struct {
	ID       string   `xml:"instanceId"`
	Current  stateXML `xml:"currentState"`
	Previous stateXML `xml:"previousState"`
}

// terminateInstances terminates instances.
func (e *Emulator) terminateInstances(r *request) (any, *wire.Error) {
	return changeStates(r, e.world.Terminate)
}

// stopInstances stops instances.
func (e *Emulator) stopInstances(r *request) (any, *wire.Error) { return changeStates(r, e.world.Stop) }

// startInstances starts stopped instances.
func (e *Emulator) startInstances(r *request) (any, *wire.Error) {
	return changeStates(r, e.world.Start)
}

// changeStates calls do with the instances of a request and returns the changes of their states.
func changeStates(r *request, do func(ids []string) ([]world.StateChange, *wire.Error)) (any, *wire.Error) {
	ids := r.form.List("InstanceId")
	if len(ids) == 0 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter InstanceId")
	}
	changes, failure := do(ids)
	if failure != nil {
		return nil, failure
	}
	var out stateChangesXML
	for _, c := range changes {
		out.Instances.Items = append(out.Instances.Items, stateChangeXML{
			c.ID, stateXML{c.Current.Code, c.Current.Name}, stateXML{c.Previous.Code, c.Previous.Name},
		})
	}
	return out, nil
}

// rebootInstances reboots instances.
func (e *Emulator) rebootInstances(r *request) (any, *wire.Error) {
	ids := r.form.List("InstanceId")
	if len(ids) == 0 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter InstanceId")
	}
	if failure := e.world.Reboot(ids); failure != nil {
		return nil, failure
	}
	return returnXML{true}, nil
}

type returnXML struct {
	Return bool `xml:"return"`
}

// createTags sets tags on resources.
func (e *Emulator) createTags(r *request) (any, *wire.Error) {
	ids := r.form.List("ResourceId")
	if len(ids) == 0 || !r.form.Has("Tag") {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameters ResourceId and Tag")
	}
	if failure := e.world.CreateTags(ids, tagsOf(r.form)); failure != nil {
		return nil, failure
	}
	return returnXML{true}, nil
}

// deleteTags removes tags from resources: the listed ones, or all if none is listed.
func (e *Emulator) deleteTags(r *request) (any, *wire.Error) {
	ids := r.form.List("ResourceId")
	if len(ids) == 0 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter ResourceId")
	}
	tags := map[string]*string{}
	for _, t := range r.form.Each("Tag") {
		tags[t.String("Key")] = nil
		if t.Has("Value") {
			value := t.String("Value")
			tags[t.String("Key")] = &value
		}
	}
	if failure := e.world.DeleteTags(ids, tags); failure != nil {
		return nil, failure
	}
	return returnXML{true}, nil
}

type consoleXML struct {
	ID     string `xml:"instanceId"`
	Time   string `xml:"timestamp"`
	Output string `xml:"output"`
}

// getConsoleOutput returns the console output of an instance.
func (e *Emulator) getConsoleOutput(r *request) (any, *wire.Error) {
	id := r.form.String("InstanceId")
	if failure := e.world.CheckInstances([]string{id}); failure != nil {
		return nil, failure
	}
	i, _ := e.world.Instance(id)
	text := strings.Join(i.Console, "\r\n")
	return consoleXML{id, wire.Time(e.world.Now()), base64.StdEncoding.EncodeToString([]byte(text))}, nil
}
