package network

import (
	"cmp"
	"maps"
	"slices"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// A Pick has one subnet per zone, chosen for a launch. A number of addresses is reserved in each subnet. Settle
// releases those that the launch does not use.
type Pick struct {
	subnets *Subnets
	byZone  map[string]string
	held    map[string]hold // by subnet id
}

// hold is a reservation of addresses in one subnet.
type hold struct {
	addresses int64
	reading   uint64 // count.reading at the time of the reservation
}

// Pick chooses one subnet of the class in each zone of need, and reserves need[zone] addresses in it. It chooses the
// subnet with the most free addresses, or of several such subnets the one with the lowest id. A subnet for which full
// returns true is chosen only if the zone has no other. The caller must call Settle once the outcome of the launch is
// known.
func (s *Subnets) Pick(class *awsv1.EC2NodeClass, need map[string]int64, full func(id string) bool) *Pick {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &Pick{subnets: s, byZone: map[string]string{}, held: map[string]hold{}}
	for _, zone := range slices.Sorted(maps.Keys(need)) {
		best := ""
		for _, n := range class.Status.Subnets {
			if n.Zone == zone && (best == "" || s.better(n.ID, best, full)) {
				best = n.ID
			}
		}
		if best == "" {
			continue
		}
		p.byZone[zone] = best
		if c := s.counts[best]; c != nil {
			c.launched += need[zone]
			p.held[best] = hold{addresses: need[zone], reading: c.reading}
		}
	}
	return p
}

// better reports whether subnet a is preferred to b. The caller holds mu.
func (s *Subnets) better(a, b string, full func(string) bool) bool {
	if fa, fb := full(a), full(b); fa != fb {
		return fb
	}
	return cmp.Or(cmp.Compare(s.free(b), s.free(a)), cmp.Compare(a, b)) < 0
}

func (s *Subnets) free(id string) int64 {
	if c := s.counts[id]; c != nil {
		return c.free - c.launched
	}
	return 0
}

// In returns the subnet chosen in the zone, empty if there is none.
func (p *Pick) In(zone string) string { return p.byZone[zone] }

// Settle releases the reserved addresses in subnets that were not used. A count that was read from EC2 in the meantime
// is not changed.
func (p *Pick) Settle(used ...string) {
	p.subnets.mu.Lock()
	defer p.subnets.mu.Unlock()
	for id, h := range p.held {
		c := p.subnets.counts[id]
		if c != nil && c.reading == h.reading && !slices.Contains(used, id) {
			c.launched = max(c.launched-h.addresses, 0)
		}
	}
	clear(p.held)
}
