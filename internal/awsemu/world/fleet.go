package world

import (
	"fmt"
	"math"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// A Fleet is a CreateFleet request of type instant.
type Fleet struct {
	// OnDemand and Spot are the requested numbers of instances.
	OnDemand, Spot int
	// Target is the default target capacity type: on-demand, spot, capacity-block or reserved-capacity.
	Target string
	// ReservationTypes are the types of reservations that a fleet of the type reserved-capacity uses.
	ReservationTypes []string
	// OnDemandStrategy and SpotStrategy are the allocation strategies; see orderPools.
	OnDemandStrategy, SpotStrategy string
	Configs                        []FleetConfig
	Tags                           Tags
	Token                          string
}

// A FleetConfig is a template with the overrides for its launches.
type FleetConfig struct {
	Template  TemplateRef
	Overrides []Override
}

// An Override is one combination of type and location for a launch. Empty fields have the values of the template.
type Override struct {
	InstanceType, Subnet, Zone, ImageID string
	Priority                            float64 // lower ones are tried first
	HasPriority                         bool
}

// A FleetResult has the launched instances of a fleet, and the errors by capacity pool of EC2; see Pool.
type FleetResult struct {
	ID       string
	Launched []FleetLaunch
	Errors   []FleetError
}

// A FleetLaunch has the instances from one pool. Override is that of the request.
type FleetLaunch struct {
	IDs            []string
	Type, Capacity string
	Windows        bool
	Template       TemplateRef
	Override       Override
}

// A FleetError is the reason why one pool provided too few instances or none.
type FleetError struct {
	Failure
	Capacity string
	Template TemplateRef
	Override Override
}

// option is one capacity pool of a fleet, with the override from which it comes.
type option struct {
	launch   launch
	override Override
	failure  *Failure
	price    float64
	room     int
}

// CreateFleet launches instances from the best pools. Errors of single pools are in the result. It returns an error if the
// request itself is invalid.
func (w *World) CreateFleet(f Fleet) (FleetResult, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	if err := w.checkFleet(f); err != nil {
		return FleetResult{}, err
	}
	result := FleetResult{ID: "fleet-" + w.uuid()}
	for _, part := range []struct {
		capacity, strategy string
		want               int
	}{{OnDemand, f.OnDemandStrategy, f.OnDemand}, {Spot, f.SpotStrategy, f.Spot}} {
		if part.want == 0 {
			continue
		}
		options, err := w.options(f, result.ID, part.capacity)
		if err != nil {
			return FleetResult{}, err
		}
		orderPools(options, part.strategy, part.want)
		w.fulfil(&result, options, part.want)
	}
	return result, nil
}

// CheckFleet returns the error of CreateFleet for an invalid request.
func (w *World) CheckFleet(f Fleet) *wire.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.checkFleet(f)
}

// Limits of one fleet request: launch template configurations, and overrides in all of them.
const maxConfigs, maxOverrides = 50, 300

func (w *World) checkFleet(f Fleet) *wire.Error {
	if len(f.Configs) == 0 {
		return wire.Errorf("MissingParameter", "The request must contain the parameter LaunchTemplateConfigs")
	}
	if f.OnDemand+f.Spot < 1 {
		return wire.Errorf("InvalidParameterValue", "The total target capacity must be greater than 0.")
	}
	overrides, reservations := 0, map[string]bool{}
	for _, c := range f.Configs {
		overrides += len(c.Overrides)
		t, n, err := w.templateVersion(c.Template)
		if err != nil {
			return err
		}
		reservations[t.Versions[n-1].ReservationID] = true
	}
	if f.Target == ReservationBlock && len(reservations) > 1 {
		return wire.Errorf("InvalidParameterCombination", "A fleet request can use only one capacity block.")
	}
	if len(f.Configs) > maxConfigs || overrides > maxOverrides {
		return wire.Errorf("InvalidParameterValue",
			"A fleet request can have at most %d launch template configurations and %d overrides.", maxConfigs, maxOverrides)
	}
	for _, tags := range f.Tags {
		if err := CheckTags(tags); err != nil {
			return err
		}
	}
	return nil
}

// options checks every override of a fleet for a capacity type, and returns the pools with the results.
func (w *World) options(f Fleet, fleetID, capacity string) ([]option, *wire.Error) {
	var out []option
	for _, c := range f.Configs {
		t, n, err := w.templateVersion(c.Template)
		if err != nil {
			return nil, err
		}
		base := launch{
			pool: Pool{Capacity: capacity}, fleetID: fleetID, token: f.Token, fleet: &f,
			template: TemplateRef{ID: t.ID, Name: t.Name, Version: fmt.Sprint(n)},
			data:     t.Versions[n-1],
		}
		base.tags = merged(base.data.Tags["instance"], f.Tags["instance"])
		overrides := c.Overrides
		if len(overrides) == 0 {
			overrides = []Override{{}} // the template has all values
		}
		for _, o := range overrides {
			p := option{override: o}
			p.launch, p.failure = w.check(base, o)
			if p.failure == nil {
				p.price = w.price(p.launch.pool)
				if p.price == 0 {
					p.price = math.Inf(1) // unknown: pools with a price are preferred
				}
				p.room, _ = w.room(p.launch.pool)
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// fulfil launches instances from the options in order, until there are want instances.
func (w *World) fulfil(result *FleetResult, options []option, want int) {
	for _, o := range options {
		if want == 0 {
			return
		}
		var made []*Instance
		failure := o.failure
		if failure == nil {
			made, failure = w.launchAll(o.launch, want)
		}
		if len(made) > 0 {
			batch := FleetLaunch{
				Type: o.launch.pool.Type, Capacity: o.launch.pool.Capacity, Windows: o.launch.image.Platform == "windows",
				Template: o.launch.template, Override: o.override,
			}
			for _, i := range made {
				batch.IDs = append(batch.IDs, i.ID)
			}
			result.Launched = append(result.Launched, batch)
			want -= len(made)
		}
		if failure != nil {
			result.Errors = append(result.Errors, FleetError{
				Failure: *failure, Capacity: o.launch.pool.Capacity, Template: o.launch.template, Override: o.override,
			})
		}
	}
}
