package awsemu

import (
	"slices"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// The allocation strategies, as CreateFleet spells them.
var (
	spotStrategies     = []string{"lowest-price", "diversified", "capacity-optimized", "capacity-optimized-prioritized", "price-capacity-optimized"}
	onDemandStrategies = []string{"lowest-price", "prioritized"}
)

type createFleetXML struct {
	ID        string                     `xml:"fleetId"`
	Errors    wire.Set[fleetErrorXML]    `xml:"errorSet"`
	Instances wire.Set[fleetInstanceXML] `xml:"fleetInstanceSet"`
}

type fleetInstanceXML struct {
	Choice    fleetChoiceXML   `xml:"launchTemplateAndOverrides"`
	Lifecycle string           `xml:"lifecycle"`
	IDs       wire.Set[string] `xml:"instanceIds"`
	Type      string           `xml:"instanceType"`
	Platform  string           `xml:"platform,omitempty"`
}

type fleetErrorXML struct {
	Choice    fleetChoiceXML `xml:"launchTemplateAndOverrides"`
	Lifecycle string         `xml:"lifecycle"`
	Code      string         `xml:"errorCode"`
	Message   string         `xml:"errorMessage"`
}

type fleetChoiceXML struct {
	Template fleetTemplateXML `xml:"launchTemplateSpecification"`
	Override fleetOverrideXML `xml:"overrides"`
}

type fleetTemplateXML struct {
	ID      string `xml:"launchTemplateId"`
	Name    string `xml:"launchTemplateName,omitempty"`
	Version string `xml:"version"`
}

type fleetOverrideXML struct {
	Type     string   `xml:"instanceType,omitempty"`
	Subnet   string   `xml:"subnetId,omitempty"`
	Zone     string   `xml:"availabilityZone,omitempty"`
	Image    string   `xml:"imageId,omitempty"`
	Priority *float64 `xml:"priority"`
}

// createFleet launches instances from the best of many pools. Only fleets of type instant are emulated. The others also replace
// instances that are terminated.
func (e *Emulator) createFleet(r *request) (any, *wire.Error) {
	if kind := r.form.String("Type"); kind != "instant" {
		return nil, wire.Errorf("UnsupportedOperation",
			"Fleets of type '%s' are not emulated, only instant ones.", kind)
	}
	fleet, err := fleetOf(r.form)
	if err != nil {
		return nil, err
	}
	if r.form.Bool("DryRun") {
		if err := e.world.CheckFleet(fleet); err != nil {
			return nil, err
		}
		return nil, wouldSucceed()
	}
	return e.replays.once(r, func() (any, *wire.Error) {
		result, err := e.world.CreateFleet(fleet)
		if err != nil {
			return nil, err
		}
		return fleetToXML(result), nil
	})
}

// fleetOf reads the parameters of CreateFleet.
func fleetOf(f wire.Form) (world.Fleet, *wire.Error) {
	fleet := world.Fleet{
		SpotStrategy: f.String("SpotOptions.AllocationStrategy"), OnDemandStrategy: f.String("OnDemandOptions.AllocationStrategy"),
		Tags: tagSpecs(f), Token: f.String("ClientToken"),
	}
	if fleet.SpotStrategy == "" {
		fleet.SpotStrategy = "lowest-price"
	}
	if fleet.OnDemandStrategy == "" {
		fleet.OnDemandStrategy = "lowest-price"
	}
	if !slices.Contains(spotStrategies, fleet.SpotStrategy) || !slices.Contains(onDemandStrategies, fleet.OnDemandStrategy) {
		return fleet, wire.Errorf("InvalidParameterValue",
			"The allocation strategy '%s' or '%s' is not valid.", fleet.SpotStrategy, fleet.OnDemandStrategy)
	}
	if err := fleetTarget(f.Sub("TargetCapacitySpecification"), &fleet); err != nil {
		return fleet, err
	}
	if err := fleetReservations(f, &fleet); err != nil {
		return fleet, err
	}
	for _, c := range f.Each("LaunchTemplateConfigs") {
		config := world.FleetConfig{Template: templateVersionRef(c.Sub("LaunchTemplateSpecification"))}
		for _, o := range c.Each("Overrides") {
			config.Overrides = append(config.Overrides, world.Override{
				InstanceType: o.String("InstanceType"), Subnet: o.String("SubnetId"), Zone: o.String("AvailabilityZone"),
				ImageID: o.String("ImageId"), Priority: o.Float("Priority"), HasPriority: o.Has("Priority"),
			})
		}
		fleet.Configs = append(fleet.Configs, config)
	}
	return fleet, f.Err()
}

// fleetTarget reads how many on-demand and spot instances are requested. The part of the total for which the request has no
// number is of the default capacity type.
func fleetTarget(f wire.Form, fleet *world.Fleet) *wire.Error {
	total := f.Int("TotalTargetCapacity")
	fleet.OnDemand, fleet.Spot = f.Int("OnDemandTargetCapacity"), f.Int("SpotTargetCapacity")
	rest := total - fleet.OnDemand - fleet.Spot
	if rest < 0 {
		return wire.Errorf("InvalidParameterValue",
			"The on-demand and spot target capacities exceed the total target capacity.")
	}
	fleet.Target = f.String("DefaultTargetCapacityType")
	switch kind := fleet.Target; kind {
	case world.Spot:
		fleet.Spot += rest
	case world.OnDemand, world.TargetReserved, world.ReservationBlock: // the template names the reservation
		if kind == world.ReservationBlock && rest < total {
			return wire.Errorf("InvalidParameterCombination",
				"The on-demand and spot target capacities cannot be specified with the target capacity type '%s'.", kind)
		}
		fleet.OnDemand += rest
	case "":
		if rest > 0 {
			return wire.Errorf("MissingParameter", "The request must contain the parameter DefaultTargetCapacityType")
		}
	default:
		return wire.Errorf("InvalidParameterValue", "The target capacity type '%s' is not valid.", kind)
	}
	return nil
}

// fleetReservations reads which types of reservations a fleet uses.
func fleetReservations(f wire.Form, fleet *world.Fleet) *wire.Error {
	fleet.ReservationTypes = f.List("ReservedCapacityOptions.ReservationType")
	for _, kind := range fleet.ReservationTypes {
		if !slices.Contains(world.ReservationTypes(), kind) {
			return wire.Errorf("InvalidParameterValue", "The reservation type '%s' is not valid.", kind)
		}
	}
	if len(fleet.ReservationTypes) > 0 && fleet.Target != world.TargetReserved {
		return wire.Errorf("InvalidParameterCombination",
			"ReservedCapacityOptions can be specified only with the target capacity type '%s', not '%s'.", world.TargetReserved, fleet.Target)
	}
	if fleet.Target == world.ReservationBlock && f.Has("OnDemandOptions.CapacityReservationOptions") {
		return wire.Errorf("InvalidParameterCombination",
			"OnDemandOptions.CapacityReservationOptions cannot be specified with the target capacity type '%s'.", fleet.Target)
	}
	return nil
}

// fleetToXML encodes the result of a fleet.
func fleetToXML(result world.FleetResult) createFleetXML {
	out := createFleetXML{ID: result.ID}
	for _, l := range result.Launched {
		item := fleetInstanceXML{
			Choice: fleetChoice(l.Template, l.Override), Lifecycle: lifecycle(l.Capacity), IDs: wire.SetOf(l.IDs...), Type: l.Type,
		}
		if l.Windows {
			item.Platform = "Windows"
		}
		out.Instances.Items = append(out.Instances.Items, item)
	}
	for _, f := range result.Errors {
		out.Errors.Items = append(out.Errors.Items, fleetErrorXML{
			Choice: fleetChoice(f.Template, f.Override), Lifecycle: lifecycle(f.Capacity), Code: f.Code, Message: f.Message,
		})
	}
	return out
}

// lifecycle returns the name of a capacity type in the response of a fleet, in which reserved instances are on-demand.
func lifecycle(capacity string) string {
	if capacity == world.Reserved {
		return world.OnDemand
	}
	return capacity
}

// fleetChoice returns the template and the override of a pool for the response.
func fleetChoice(t world.TemplateRef, o world.Override) fleetChoiceXML {
	out := fleetChoiceXML{
		Template: fleetTemplateXML{t.ID, t.Name, t.Version},
		Override: fleetOverrideXML{Type: o.InstanceType, Subnet: o.Subnet, Zone: o.Zone, Image: o.ImageID},
	}
	if o.HasPriority {
		out.Override.Priority = &o.Priority
	}
	return out
}

// runInstances launches instances of one kind.
func (e *Emulator) runInstances(r *request) (any, *wire.Error) {
	f := r.form
	run := world.Run{
		Min: f.Int("MinCount"), Max: f.Int("MaxCount"), Template: templateVersionRef(f.Sub("LaunchTemplate")),
		Data: templateData(f), Subnet: f.String("SubnetId"), Zone: f.String("Placement.AvailabilityZone"),
		Spot: f.String("InstanceMarketOptions.MarketType") == "spot", Token: f.String("ClientToken"),
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if f.Bool("DryRun") {
		if err := e.world.CheckRun(run); err != nil {
			return nil, err
		}
		return nil, wouldSucceed()
	}
	return e.replays.once(r, func() (any, *wire.Error) {
		made, err := e.world.RunInstances(run)
		if err != nil {
			return nil, err
		}
		return e.reservationOf(made), nil
	})
}
