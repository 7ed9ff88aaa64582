package launch

import (
	"cmp"
	"slices"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
)

// reservationOf returns the reservation of an offering, zero if it has none.
func reservationOf(o model.Offering) instances.Reservation {
	labels := o.Requirements.Labels()
	return instances.Reservation{
		ID: o.ReservationID, Type: awsv1.CapacityReservationType(labels[awsv1.LabelCapacityReservationType]),
		Interruptible: labels[awsv1.LabelCapacityReservationInterruptible] == "true",
	}
}

// kindOf returns the kind of a reservation, in the order in which they are used at equal prices: plain reservations,
// capacity blocks, interruptible ones. A fleet call uses one kind, because EC2 requires a separate call for each.
func kindOf(r instances.Reservation) int {
	switch {
	case r.Type == awsv1.CapacityReservationTypeCapacityBlock:
		return 1
	case r.Interruptible:
		return 2
	}
	return 0
}

// reservedOnly returns the candidates with only their reserved offerings of the kind of the cheapest one (bestKind),
// one per zone and partition. If that kind is capacity blocks, it returns only the cheapest offering. If the claim
// does not allow reserved capacity, or there is none, it returns the candidates without reserved offerings.
func reservedOnly(in []candidate, reqs require.Set) []candidate {
	kind, found := bestKind(in)
	reserved := found && allows(reqs, apiv1.CapacityTypeReserved)
	var out []candidate
	for _, c := range in {
		offers := slices.DeleteFunc(slices.Clone(c.offers), func(o model.Offering) bool {
			return (o.ReservationID != "") != reserved || reserved && kindOf(reservationOf(o)) != kind
		})
		if reserved {
			offers = roomiest(offers)
		}
		if len(offers) > 0 {
			out = append(out, candidate{t: c.t, offers: offers})
		}
	}
	if reserved && kind == kindOf(instances.Reservation{Type: awsv1.CapacityReservationTypeCapacityBlock}) {
		return oneBlock(out)
	}
	return out
}

// bestKind returns the kind of the cheapest reserved offering.
func bestKind(in []candidate) (kind int, found bool) {
	best := 0.0
	for _, c := range in {
		for _, o := range c.offers {
			if o.ReservationID == "" {
				continue
			}
			k := kindOf(reservationOf(o))
			if !found || o.Price < best || o.Price == best && k < kind {
				best, kind, found = o.Price, k, true
			}
		}
	}
	return kind, found
}

// roomiest returns, for each zone and partition, the offering whose reservation has the most instances left.
func roomiest(in []model.Offering) []model.Offering {
	slices.SortStableFunc(in, func(a, b model.Offering) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(partitionOf(a), partitionOf(b)),
			cmp.Compare(b.ReservationCapacity, a.ReservationCapacity), cmp.Compare(a.ReservationID, b.ReservationID))
	})
	return slices.CompactFunc(in, func(a, b model.Offering) bool {
		return a.Zone == b.Zone && partitionOf(a) == partitionOf(b)
	})
}

// partitionOf returns the placement group partition of an offering, empty if there is none.
func partitionOf(o model.Offering) string {
	return o.Requirements.Labels()[awsv1.LabelPlacementGroupPartition]
}

// oneBlock returns only the cheapest offering, because a fleet call launches in one capacity block.
func oneBlock(in []candidate) []candidate {
	if len(in) == 0 {
		return nil
	}
	best := slices.MinFunc(in, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cheapest(), b.cheapest()), cmp.Compare(a.t.Name, b.t.Name))
	})
	best.offers = []model.Offering{slices.MinFunc(best.offers, model.Offering.Compare)}
	return []candidate{best}
}
