package catalog

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// shortageLife is how long a refusal is believed.
const shortageLife = 3 * time.Minute

// Shortages remember what EC2 had none of. Each is forgotten three minutes after it was last marked. They live in memory:
// losing them costs one refused launch each.
type Shortages struct {
	clock clock.PassiveClock

	mu       sync.Mutex // guards the rest
	until    map[shortage]time.Time
	revision uint64
}

// A shortage is an offering, or a whole capacity type, or a subnet; the other fields are empty.
type shortage struct{ Type, Zone, CapacityType, Subnet string }

// NewShortages returns an empty memory.
func NewShortages(c clock.PassiveClock) *Shortages {
	return &Shortages{clock: c, until: map[shortage]time.Time{}}
}

// MarkOffering notes that the type is not to be had in the zone under that capacity type.
func (s *Shortages) MarkOffering(instanceType, zone, capacityType string) {
	s.mark(shortage{Type: instanceType, Zone: zone, CapacityType: capacityType})
}

// MarkCapacityType notes that nothing is to be had under that capacity type.
func (s *Shortages) MarkCapacityType(capacityType string) {
	s.mark(shortage{CapacityType: capacityType})
}

// MarkSubnet notes that the subnet has no free addresses.
func (s *Shortages) MarkSubnet(id string) { s.mark(shortage{Subnet: id}) }

func (s *Shortages) mark(k shortage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.until[k]; !known {
		s.revision++
	}
	s.until[k] = s.clock.Now().Add(shortageLife)
}

// Revision changes whenever a shortage comes or goes.
func (s *Shortages) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	return s.revision
}

// forget drops what has expired. The caller holds mu.
func (s *Shortages) forget() {
	now, before := s.clock.Now(), len(s.until)
	maps.DeleteFunc(s.until, func(_ shortage, until time.Time) bool { return !now.Before(until) })
	if len(s.until) != before {
		s.revision++
	}
}

// Known reports whether the offering is short. subnets are those that the class has in the zone: when all of them are
// full, so is the zone.
func (s *Shortages) Known(instanceType, zone, capacityType string, subnets []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	has := func(k shortage) bool { _, ok := s.until[k]; return ok }
	if has(shortage{Type: instanceType, Zone: zone, CapacityType: capacityType}) ||
		has(shortage{CapacityType: capacityType}) {
		return true
	}
	return len(subnets) > 0 && !slices.ContainsFunc(subnets, func(id string) bool {
		return !has(shortage{Subnet: id})
	})
}

// SubnetFull reports whether the subnet is short of addresses.
func (s *Shortages) SubnetFull(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	_, full := s.until[shortage{Subnet: id}]
	return full
}
