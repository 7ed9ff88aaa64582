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
	// shortageLife is how long an offering is unavailable after a first refusal. Each further refusal in a row doubles
	// that.
	shortageLife = 3 * time.Minute
	// shortageLongest is the maximum duration that the doubling gives.
	shortageLongest = 30 * time.Minute
	// notSoldLife is how long an offering is unavailable after EC2 reported that the zone does not offer the type.
	notSoldLife = 6 * time.Hour
	// calm is the time after the end of a shortage within which a new refusal counts as a further one in a row.
	calm = 10 * time.Minute
	// familySizes is a number of sizes of one family. If at least that many have no capacity in a zone with one capacity type,
	// all types of the family are treated as unavailable there with that capacity type.
	familySizes = 4
)

// Shortages records which offerings are unavailable because EC2 refused a launch, and which quotas are used up. The
// records are kept in memory only. If a record is lost, EC2 refuses one more launch.
type Shortages struct {
	clock clock.PassiveClock

	mu       sync.Mutex // guards the rest
	current  map[shortage]strike
	past     map[shortage]strike // ended less than calm ago: if they recur, they last longer
	quotas   map[quota]used
	sizes    map[familyIn]int // how many types of a family have no capacity in a zone with a capacity type
	next     time.Time        // the next time at which forget must change something, zero for never
	revision uint64
}

// familyIn is a family of types in one zone with one capacity type.
type familyIn struct{ Family, Zone, CapacityType string }

func (k shortage) family() familyIn {
	family, _, _ := strings.Cut(k.Type, ".")
	return familyIn{family, k.Zone, k.CapacityType}
}

// A shortage identifies what is unavailable: an offering (perhaps only in a Place or a capacity reservation), a whole
// capacity type, a subnet, or a placement group in a zone. Fields that do not apply are empty.
type shortage struct {
	Type, Zone, CapacityType, Subnet, Reservation string
	Place
}

// A strike has the end and the duration of a shortage.
type strike struct {
	until time.Time
	life  time.Duration
	// size is true if the shortage counts for familyShort: the zone has no capacity for the type. This is false for a shortage in a
	// placement group or a reservation only, and for a launch that is not supported.
	size bool
}

// A quota identifies a quota of the account: the vCPUs that instances of some families use with one capacity type.
// bucket is the name of these families, as Bucket returns it.
type quota struct{ bucket, capacityType string }

// used records that a quota is used up: EC2 refused an instance with this number of vCPUs. Until the time until,
// types with as many or more vCPUs are unavailable.
type used struct {
	vcpus int64
	until time.Time
}

// NewShortages returns Shortages without records.
func NewShortages(c clock.PassiveClock) *Shortages {
	return &Shortages{
		clock: c, current: map[shortage]strike{}, past: map[shortage]strike{}, quotas: map[quota]used{},
		sizes: map[familyIn]int{},
	}
}

// A Place is the placement group of a launch, empty for none, and the partition that the launch required of it, empty if
// EC2 chooses the partition.
type Place struct{ Group, Partition string }

// MarkOffering records that the zone has no capacity for the type with the capacity type. The record applies to the
// place only: to the partition if there is one, or else to the group if there is one.
func (s *Shortages) MarkOffering(instanceType, zone, capacityType string, in Place) {
	s.mark(shortage{Type: instanceType, Zone: zone, CapacityType: capacityType, Place: in}, strike{life: shortageLife, size: in.Group == ""})
}

// MarkReservation records that the type cannot be launched in the capacity reservation in the zone, for another reason
// than that the reservation is full.
func (s *Shortages) MarkReservation(instanceType, zone, id string) {
	s.mark(shortage{Type: instanceType, Zone: zone, CapacityType: apiv1.CapacityTypeReserved, Reservation: id}, strike{life: shortageLife})
}

// MarkUnsupported records that the launch is not supported. The cause may be the tenancy, the image or an option of one node class,
// so the record says nothing about other types, and lasts no longer than one of MarkOffering. It applies to the place, as there.
func (s *Shortages) MarkUnsupported(instanceType, zone, capacityType string, in Place) {
	s.mark(shortage{Type: instanceType, Zone: zone, CapacityType: capacityType, Place: in}, strike{life: shortageLife})
}

// MarkNotSold records that the zone does not offer the type, although EC2 lists it. As in MarkOffering, the record
// applies to the place only, because the type may be unsupported only there.
func (s *Shortages) MarkNotSold(instanceType, zone, capacityType string, in Place) {
	s.mark(shortage{Type: instanceType, Zone: zone, CapacityType: capacityType, Place: in}, strike{life: notSoldLife})
}

// MarkCapacityType records that nothing can be launched with the capacity type.
func (s *Shortages) MarkCapacityType(capacityType string) {
	s.mark(shortage{CapacityType: capacityType}, strike{life: shortageLife})
}

// MarkGroup records that the placement group has no room left in the zone, for any type and capacity type.
func (s *Shortages) MarkGroup(zone, id string) {
	s.mark(shortage{Zone: zone, Place: Place{Group: id}}, strike{life: shortageLife})
}

// MarkSubnet records that the subnet has no free addresses.
func (s *Shortages) MarkSubnet(id string) { s.mark(shortage{Subnet: id}, strike{life: shortageLife}) }

// MarkQuota records that the account's quota for the type does not allow this number of further vCPUs with the
// capacity type.
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

// mark records a shortage with the life and the size of v.
func (s *Shortages) mark(k shortage, v strike) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	now, is := s.current[k]
	if is { // several refusals during one shortage count once
		v.life = max(v.life, min(now.life, shortageLongest))
	} else {
		s.revision++
	}
	if before, was := s.past[k]; was {
		v.life = max(v.life, min(2*before.life, shortageLongest))
		delete(s.past, k)
	}
	if v.until = s.clock.Now().Add(v.life); v.until.Before(now.until) {
		v.until = now.until
	}
	if v.size && !now.size {
		s.sizes[k.family()]++
		s.revision++
	}
	v.size = v.size || now.size
	s.current[k] = v
	s.due(v.until)
}

// due makes forget act at the given time at the latest. The caller holds mu.
func (s *Shortages) due(at time.Time) {
	if s.next.IsZero() || at.Before(s.next) {
		s.next = at
	}
}

// Revision returns a number that changes whenever a shortage begins or ends,
// and whenever the record of a quota is written or ends.
func (s *Shortages) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	return s.revision
}

// forget moves shortages that have ended to past, and removes those that ended more than calm ago. It removes quotas
// whose time is over. The caller holds mu.
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
		if v.size {
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

// An Ask is an offering whose availability is looked up.
type Ask struct {
	Type, Zone, CapacityType string
	// VCPUs is the number of vCPUs of the type.
	VCPUs int64
	// Subnets are the subnets of the class in the zone. If all of them are full, the offering is unavailable.
	Subnets []string
	// Place has the class's placement group, and the partition of the offering.
	Place
	// Reservation is the id of the capacity reservation of a reserved offering, empty for none.
	Reservation string
}

// Known reports whether the offering is recorded as unavailable.
func (s *Shortages) Known(a Ask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	here := shortage{Type: a.Type, Zone: a.Zone, CapacityType: a.CapacityType}
	grouped, placed, reserved := here, here, here
	grouped.Group, placed.Place, reserved.Reservation = a.Group, a.Place, a.Reservation
	if s.is(here) || s.is(grouped) || s.is(placed) || s.is(reserved) || s.is(shortage{CapacityType: a.CapacityType}) || s.familyShort(a) {
		return true
	}
	if s.is(shortage{Zone: a.Zone, Place: Place{Group: a.Group}}) {
		return true
	}
	if s.overQuota(a) {
		return true
	}
	return len(a.Subnets) > 0 && !slices.ContainsFunc(a.Subnets, func(id string) bool { return !s.is(shortage{Subnet: id}) })
}

// overQuota reports whether the offering has at least as many vCPUs as one that EC2 refused because of the same
// quota. The caller holds mu.
func (s *Shortages) overQuota(a Ask) bool {
	q, ok := s.quotas[quota{Bucket(a.Type), a.CapacityType}]
	return ok && a.VCPUs >= q.vcpus
}

// Quota returns the quota of the account that makes the offering unavailable, empty if none does.
func (s *Shortages) Quota(a Ask) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	if !s.overQuota(a) {
		return ""
	}
	return a.CapacityType + " vCPUs for " + Bucket(a.Type) + " instances"
}

func (s *Shortages) is(k shortage) bool {
	_, ok := s.current[k]
	return ok
}

// familyShort reports whether at least familySizes sizes of the type's family have no capacity in the zone with the
// capacity type. The caller holds mu.
func (s *Shortages) familyShort(a Ask) bool {
	return s.sizes[shortage{Type: a.Type, Zone: a.Zone, CapacityType: a.CapacityType}.family()] >= familySizes
}

// SubnetFull reports whether the subnet is recorded as having no free addresses.
func (s *Shortages) SubnetFull(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	return s.is(shortage{Subnet: id})
}

// buckets are EC2's quotas for running instances, each with a prefix of the families that it counts. The first prefix
// that matches applies. All other families count in the standard quota.
var buckets = []struct{ prefix, bucket string }{
	{"inf", "Inf"}, {"trn", "Trn"}, {"dl", "DL"}, {"vt", "G and VT"}, {"gr", "G and VT"}, {"g", "G and VT"},
	{"hpc", "HPC"}, {"u-", "High Memory"}, {"u7", "High Memory"}, {"f", "F"}, {"p", "P"}, {"x", "X"},
}

// Bucket returns the name of the quota that counts instances of the type, as in the Service Quotas console.
func Bucket(instanceType string) string {
	for _, b := range buckets {
		if strings.HasPrefix(instanceType, b.prefix) {
			return b.bucket
		}
	}
	return "Standard (A, C, D, H, I, M, R, T, Z)"
}
