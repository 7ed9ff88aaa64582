package view

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// mostInterruptions is the maximum number of interruptions.
const mostInterruptions = 200

// CapacityOf returns the interruptions, newest first, the offerings that cannot be launched, the reservations, and the spot
// nodes by zone. It does not set Devices. episodes are oldest first.
func CapacityOf(s *model.Snapshot, prices Prices, episodes []decisions.Episode) Capacity {
	return Capacity{
		Interruptions: interruptionsOf(episodes), Refused: refusedOf(s), Reservations: reservationsOf(s), Spot: spotOf(s, prices),
	}
}

func interruptionsOf(episodes []decisions.Episode) []Interruption {
	out := []Interruption{}
	for _, e := range slices.Backward(episodes) {
		if e.Kind != decisions.KindInterruption {
			continue
		}
		for _, r := range e.Removals {
			if len(out) == mostInterruptions {
				return out
			}
			out = append(out, Interruption{Time: e.Time, Node: cmp.Or(r.Node, r.Claim), Type: r.InstanceType, Zone: r.Zone, Kind: e.Reason})
		}
	}
	return out
}

// An offer identifies a RefusedOffer.
type offer struct{ zone, family, capacityType, reason string }

// refusedOf returns the offerings that NodePools allow and that cannot be launched now.
func refusedOf(s *model.Snapshot) []RefusedOffer {
	types := map[offer]map[string]bool{}
	for _, p := range s.Pools() {
		for _, t := range s.Types(p.Name) {
			if _, ok := t.Requirements.Intersects(p.Requirements); ok {
				addRefused(types, t, p.Requirements)
			}
		}
	}
	out := make([]RefusedOffer, 0, len(types))
	for k, names := range types {
		out = append(out, RefusedOffer{Zone: k.zone, Family: k.family, CapacityType: k.capacityType, Types: sortedKeys(names), Reason: k.reason})
	}
	slices.SortFunc(out, func(a, b RefusedOffer) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Family, b.Family), cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

func addRefused(types map[offer]map[string]bool, t *model.InstanceType, allowed require.Set) {
	for _, o := range t.Offerings {
		if _, ok := allowed.Intersects(o.Requirements); !ok || o.Launchable() {
			continue
		}
		k := offer{o.Zone, FamilyOf(t.Name), o.CapacityType, "out of capacity, or not sold here"}
		switch {
		case o.Unpriced:
			k.reason = "price not known"
		case o.Available:
			k.reason = "capacity reservation full"
		}
		if types[k] == nil {
			types[k] = map[string]bool{}
		}
		types[k][t.Name] = true
	}
}

// FamilyOf returns the family of an instance type: its name up to the first dot. If there is no dot, it is the name up to
// the last hyphen, or the whole name.
func FamilyOf(name string) string {
	if family, _, ok := strings.Cut(name, "."); ok {
		return family
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		return name[:i]
	}
	return name
}

func reservationsOf(s *model.Snapshot) []Reservation {
	byID := map[string]*Reservation{}
	for _, p := range s.Pools() {
		for _, t := range s.Types(p.Name) {
			for _, o := range t.Offerings {
				if o.ReservationID != "" {
					byID[o.ReservationID] = &Reservation{ID: o.ReservationID, Type: t.Name, Zone: o.Zone, Total: max(o.ReservationCapacity, 0)}
				}
			}
		}
	}
	for _, n := range s.EachNode() {
		if n.Labels[apiv1.CapacityTypeLabelKey] != apiv1.CapacityTypeReserved || n.Pool == "" || len(byID) == 0 {
			continue
		}
		if o := s.OfferingOf(n); o != nil && byID[o.ReservationID] != nil {
			byID[o.ReservationID].Used++
		}
	}
	out := make([]Reservation, 0, len(byID))
	for _, r := range byID {
		r.Total += r.Used // the total is the free capacity and that which this cluster uses
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Reservation) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func spotOf(s *model.Snapshot, prices Prices) []SpotZone {
	byZone := map[string]*SpotZone{}
	for _, n := range s.EachNode() {
		if n.Pool == "" || n.Labels[apiv1.CapacityTypeLabelKey] != apiv1.CapacityTypeSpot {
			continue
		}
		zone := n.Labels[corev1.LabelTopologyZone]
		z := byZone[zone]
		if z == nil {
			z = &SpotZone{Zone: zone}
			byZone[zone] = z
		}
		z.Nodes++
		if price := prices.Of(n).Own; price != nil {
			sum := *price
			if z.DollarsPerHour != nil {
				sum += *z.DollarsPerHour
			}
			z.DollarsPerHour = &sum
		} else if n.Launched() {
			z.Unpriced++
		}
	}
	out := make([]SpotZone, 0, len(byZone))
	for _, z := range byZone {
		if z.DollarsPerHour != nil {
			*z.DollarsPerHour = round(*z.DollarsPerHour)
		}
		out = append(out, *z)
	}
	slices.SortFunc(out, func(a, b SpotZone) int { return cmp.Compare(a.Zone, b.Zone) })
	return out
}
