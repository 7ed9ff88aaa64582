package remote

import (
	"slices"
	"sync"
	"time"

	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
)

// An offeringKey identifies an offering.
type offeringKey struct{ instanceType, zone, capacityType, reservation string }

func keyOf(k *cloudv1.OfferingKey) offeringKey {
	return offeringKey{k.GetInstanceType(), k.GetZone(), k.GetCapacityType(), k.GetReservationId()}
}

// maxShortages is the maximum number of stored shortages.
const maxShortages = 50_000

// shortages are the offerings that launches or notices have shown to be exhausted. They are lost in a restart. Then
// another launch finds the same.
type shortages struct {
	mu    sync.Mutex // guards until
	until map[offeringKey]time.Time
}

// add records that the offerings are exhausted until the time. Once maxShortages are stored, it ignores further ones.
func (s *shortages) add(keys []*cloudv1.OfferingKey, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if len(s.until) < maxShortages {
			s.until[keyOf(k)] = until
		}
	}
}

// apply returns the types with the exhausted offerings as not available. A type without exhausted offerings is returned
// unchanged.
func (s *shortages) apply(types []*cloud.InstanceType, now time.Time) []*cloud.InstanceType {
	s.mu.Lock()
	defer s.mu.Unlock()
	short := map[string]bool{}
	for k, until := range s.until {
		if !now.Before(until) {
			delete(s.until, k)
			continue
		}
		short[k.instanceType] = true
	}
	if len(short) == 0 {
		return types
	}
	out := slices.Clone(types)
	for n, t := range out {
		if !short[t.Name] {
			continue
		}
		changed := *t
		changed.Offerings = slices.Clone(t.Offerings)
		for i, o := range changed.Offerings {
			if _, exhausted := s.until[offeringKey{t.Name, o.Zone, o.CapacityType, o.ReservationID}]; exhausted {
				changed.Offerings[i].Available = false
			}
		}
		out[n] = &changed
	}
	return out
}
