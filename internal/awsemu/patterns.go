package awsemu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// The control interface refuses patterns that match nothing. A misspelt type would otherwise change nothing, without a word.

// checkPool returns an error if the pattern p matches no instance type of the region, no zone or no capacity type.
func (e *Emulator) checkPool(p control.Pool) error {
	if err := e.checkType(p.Type); err != nil {
		return err
	}
	if p.Zone != "" {
		var zones []string
		for _, z := range e.world.Zones() {
			zones = append(zones, z.Name)
		}
		if !matchesAny(p.Zone, zones) {
			return fmt.Errorf("zone %q matches none of %s", p.Zone, strings.Join(zones, ", "))
		}
	}
	if capacities := []string{world.OnDemand, world.Spot, world.Reserved}; p.Capacity != "" && !matchesAny(p.Capacity, capacities) {
		return fmt.Errorf("capacity type %q matches none of %s", p.Capacity, strings.Join(capacities, ", "))
	}
	return nil
}

// checkType returns an error if the pattern matches no instance type of the region. The empty pattern matches all.
func (e *Emulator) checkType(pattern string) error {
	for name := range e.world.Offers() {
		if pattern == "" || wire.Match(pattern, name) {
			return nil
		}
	}
	return fmt.Errorf("type %q matches no instance type that %s offers", pattern, e.world.Region())
}

// checkOperation returns an error if the pattern matches no operation that the emulator has. See matchesOp.
func (e *Emulator) checkOperation(pattern string) error {
	for name, service := range e.services {
		for action := range service.actions {
			if matchesOp(pattern, &request{service: name, action: action}) {
				return nil
			}
		}
	}
	return fmt.Errorf("operation %q matches none of the emulator. Examples are CreateFleet, ec2:Describe* and *", pattern)
}

// matchesAny reports whether the pattern matches one of the values.
func matchesAny(pattern string, values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return wire.Match(pattern, v) })
}

func (e *Emulator) orderCapacity(c control.Capacity) error {
	if c.Limit < 0 {
		return fmt.Errorf("limit %d is negative", c.Limit)
	}
	if err := e.checkPool(c.Pool); err != nil {
		return err
	}
	e.SetCapacity(c)
	return nil
}

func (e *Emulator) orderPrice(p control.Price) error {
	if err := e.checkPool(p.Pool); err != nil {
		return err
	}
	return e.SetPrice(p)
}

func (e *Emulator) orderQuota(q control.Quota) error {
	if q.Capacity != world.Spot && q.Capacity != world.OnDemand {
		return fmt.Errorf("capacity type %q is neither %s nor %s", q.Capacity, world.Spot, world.OnDemand)
	}
	e.world.SetQuota(q.Capacity, q.VCPUs)
	return nil
}

func (e *Emulator) orderThrottle(t control.Throttle) error {
	if err := e.checkOperation(t.Op); err != nil {
		return err
	}
	e.Throttle(t)
	return nil
}

func (e *Emulator) orderFail(f control.Fail) error {
	if err := e.checkOperation(f.Op); err != nil {
		return err
	}
	e.Fail(f)
	return nil
}

func (e *Emulator) orderHang(h control.Hang) error {
	if err := e.checkOperation(h.Op); err != nil {
		return err
	}
	if err := e.checkType(h.Type); err != nil {
		return err
	}
	e.Hang(h)
	return nil
}

func (e *Emulator) orderBoot(b control.Boot) error {
	if err := e.checkType(b.Type); err != nil {
		return err
	}
	e.SetBoot(b)
	return nil
}
