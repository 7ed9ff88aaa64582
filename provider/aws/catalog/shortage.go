package catalog

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	// shortageLife is how long a first refusal is believed. Each further one in a row is believed twice as long.
	shortageLife = 3 * time.Minute
	// shortageLongest bounds that.
	shortageLongest = 30 * time.Minute
	// unsupportedLife is how long it is believed that a zone does not sell a type at all.
	unsupportedLife = 6 * time.Hour
	// calm is how long after its end a shortage counts as the one before the next.
	calm = 10 * time.Minute
	// familySizes is how many sizes of a family must be short in a zone at once for all of them to count as short.
	familySizes = 4
)

// Shortages remember what EC2 had none of, and quotas that are used up. They live in memory: losing them costs one refused
// launch each.
type Shortages struct {
	clock clock.PassiveClock

	mu       sync.Mutex // guards the rest
	current  map[shortage]strike
	past     map[shortage]strike // ended not long ago: the next one lasts longer
	quotas   map[quota]used
	sizes    map[familyIn]int // how many types of a family are short in a zone
	next     time.Time        // when forget has something to do, zero for never
	revision uint64
}

// familyIn is a family of types in one zone under one capacity type.
type familyIn struct{ Family, Zone, CapacityType string }

func (k shortage) family() familyIn {
	family, _, _ := strings.Cut(k.Type, ".")
	return familyIn{family, k.Zone, k.CapacityType}
}

// A shortage is an offering, perhaps in a placement group or of a capacity reservation, or a whole capacity type, or a
// subnet; the other fields are empty.
type shortage struct{ Type, Zone, CapacityType, Subnet, Group, Reservation string }

// ofType reports whether the shortage counts towards those of its family: it is about a type in a zone, wherever there.
func (k shortage) ofType() bool { return k.Type != "" && k.Group == "" && k.Reservation == "" }

// A strike says until when a shortage is believed, and how long that is.
type strike struct {
	until time.Time
	life  time.Duration
}

// A quota counts vCPUs of a bucket of families under one capacity type.
type quota struct{ bucket, capacityType string }

// used says that EC2 refused instances of so many vCPUs or more.
type used struct {
	vcpus int64
	until time.Time
}

// NewShortages returns an empty memory.
func NewShortages(c clock.PassiveClock) *Shortages {
	return &Shortages{
		clock: c, current: map[shortage]strike{}, past: map[shortage]strike{}, quotas: map[quota]used{},
		sizes: map[familyIn]int{},
	}
}

// MarkOffering notes that the type has no capacity in the zone for that capacity type. group is the placement group
// that it was asked for in, if any: outside it there may be room.
func (s *Shortages) MarkOffering(instanceType, zone, capacityType, group string) {
	s.mark(shortage{Type: instanceType, Zone: zone, CapacityType: capacityType, Group: group}, shortageLife)
}

// MarkReservation notes that the type cannot be launched into the capacity reservation in the zone, for another reason than
// that it is full.
func (s *Shortages) MarkReservation(instanceType, zone, id string) {
	s.mark(shortage{Type: instanceType, Zone: zone, CapacityType: apiv1.CapacityTypeReserved, Reservation: id}, shortageLife)
}

// MarkUnsupported notes that the type is not sold in the zone, whatever EC2's list says.
func (s *Shortages) MarkUnsupported(instanceType, zone, capacityType string) {
	s.mark(shortage{Type: instanceType, Zone: zone, CapacityType: capacityType}, unsupportedLife)
}

// MarkCapacityType notes that nothing can be launched with that capacity type.
func (s *Shortages) MarkCapacityType(capacityType string) {
	s.mark(shortage{CapacityType: capacityType}, shortageLife)
}

// MarkSubnet notes that the subnet has no free addresses.
func (s *Shortages) MarkSubnet(id string) { s.mark(shortage{Subnet: id}, shortageLife) }

// MarkQuota notes that the account's quota for types like this one does not allow that many vCPUs more.
func (s *Shortages) MarkQuota(instanceType, capacityType string, vcpus int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	k, now := quota{Bucket(instanceType), capacityType}, s.clock.Now()
	if old, ok := s.quotas[k]; ok {
		vcpus = min(vcpus, old.vcpus)
	}
	s.quotas[k] = used{vcpus: vcpus, until: now.Add(shortageLife)}
	s.due(now.Add(shortageLife))
	s.revision++
}

func (s *Shortages) mark(k shortage, life time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	if now, is := s.current[k]; is { // several refusals at once are one
		life = max(life, now.life)
	} else {
		s.revision++
		if k.ofType() {
			s.sizes[k.family()]++
		}
	}
	if before, was := s.past[k]; was {
		life = max(life, min(2*before.life, shortageLongest))
		delete(s.past, k)
	}
	until := s.clock.Now().Add(life)
	s.current[k] = strike{until: until, life: life}
	s.due(until)
}

// due notes that forget has something to do at a time. The caller holds mu.
func (s *Shortages) due(at time.Time) {
	if s.next.IsZero() || at.Before(s.next) {
		s.next = at
	}
}

// Revision changes whenever a shortage comes or goes.
func (s *Shortages) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	return s.revision
}

// forget moves what has ended to the past, and drops what has been there for long. The caller holds mu.
func (s *Shortages) forget() {
	now := s.clock.Now()
	if s.next.IsZero() || now.Before(s.next) {
		return
	}
	s.next = time.Time{}
	for k, v := range s.current {
		if now.Before(v.until) {
			s.due(v.until)
			continue
		}
		delete(s.current, k)
		if k.ofType() {
			s.sizes[k.family()]--
		}
		s.past[k] = v
		s.revision++
	}
	maps.DeleteFunc(s.past, func(_ shortage, v strike) bool { return !now.Before(v.until.Add(calm)) })
	maps.DeleteFunc(s.sizes, func(_ familyIn, n int) bool { return n == 0 })
	for k, u := range s.quotas {
		if now.Before(u.until) {
			s.due(u.until)
			continue
		}
		delete(s.quotas, k)
		s.revision++
	}
	for _, v := range s.past {
		s.due(v.until.Add(calm))
	}
}

// An Ask is an offering that a class might use.
type Ask struct {
	Type, Zone, CapacityType string
	// VCPUs is the size of the type.
	VCPUs int64
	// Subnets are those that the class has in the zone: when all of them are full, so is the zone.
	Subnets []string
	// Group is the class's placement group, empty for none.
	Group string
	// Reservation is the id of the capacity reservation of a reserved offering, empty for none.
	Reservation string
}

// Known reports whether the offering is short.
func (s *Shortages) Known(a Ask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	here := shortage{Type: a.Type, Zone: a.Zone, CapacityType: a.CapacityType}
	grouped, reserved := here, here
	grouped.Group, reserved.Reservation = a.Group, a.Reservation
	if s.is(here) || s.is(grouped) || s.is(reserved) || s.is(shortage{CapacityType: a.CapacityType}) || s.familyShort(a) {
		return true
	}
	if q, ok := s.quotas[quota{Bucket(a.Type), a.CapacityType}]; ok && a.VCPUs >= q.vcpus {
		return true
	}
	return len(a.Subnets) > 0 && !slices.ContainsFunc(a.Subnets, func(id string) bool { return !s.is(shortage{Subnet: id}) })
}

func (s *Shortages) is(k shortage) bool {
	_, ok := s.current[k]
	return ok
}

// familyShort reports whether so many sizes of the type's family are short in the zone that the others will be too. The
// caller holds mu.
func (s *Shortages) familyShort(a Ask) bool {
	return s.sizes[shortage{Type: a.Type, Zone: a.Zone, CapacityType: a.CapacityType}.family()] >= familySizes
}

// SubnetFull reports whether the subnet is short of addresses.
func (s *Shortages) SubnetFull(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	return s.is(shortage{Subnet: id})
}

// buckets are EC2's quotas for running instances, by the beginning of the families that count in each. Whatever is not
// here is of the standard one.
var buckets = []struct{ prefix, bucket string }{
	{"inf", "Inf"}, {"trn", "Trn"}, {"dl", "DL"}, {"vt", "G and VT"}, {"gr", "G and VT"}, {"g", "G and VT"},
	{"hpc", "HPC"}, {"u-", "High Memory"}, {"u7", "High Memory"}, {"f", "F"}, {"p", "P"}, {"x", "X"},
}

// Bucket returns the name of the quota in which instances of the type count, as the Service Quotas console has it.
func Bucket(instanceType string) string {
	for _, b := range buckets {
		if strings.HasPrefix(instanceType, b.prefix) {
			return b.bucket
		}
	}
	return "Standard (A, C, D, H, I, M, R, T, Z)"
}
