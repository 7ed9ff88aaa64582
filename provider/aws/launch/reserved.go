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

// reservationsOf returns the different reservations of the offerings. Offerings without a reservation have the zero
// Reservation.
func reservationsOf(offers []model.Offering) []instances.Reservation {
	var out []instances.Reservation
	for _, o := range offers {
		if r := reservationOf(o); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// A reservationKind is a kind of capacity reservations. A fleet call uses one kind, because EC2 requires a separate call for
// each. At equal prices, kinds are used in their order.
type reservationKind int

const (
	plainReservation reservationKind = iota
	capacityBlock
	interruptibleReservation
)

func kindOf(r instances.Reservation) reservationKind {
	switch {
	case r.Type == awsv1.CapacityReservationTypeCapacityBlock:
		return capacityBlock
	case r.Interruptible:
		return interruptibleReservation
	}
	return plainReservation
}

// preferReserved returns the candidates with only their reserved offerings of the kind of the cheapest one (cheapestKind),
// one per zone and partition. If that kind is capacity blocks, it returns only the cheapest offering. If the claim
// does not allow reserved capacity, or there is none, it returns the candidates without reserved offerings.
func preferReserved(in []candidate, reqs require.Set) []candidate {
	kind, found := cheapestKind(in)
	reserved := found && allows(reqs, apiv1.CapacityTypeReserved)
	var out []candidate
	for _, c := range in {
		offers := slices.DeleteFunc(slices.Clone(c.offers), func(o model.Offering) bool {
			return (o.ReservationID != "") != reserved || reserved && kindOf(reservationOf(o)) != kind
		})
		if reserved {
			offers = largestReservations(offers)
		}
		if len(offers) > 0 {
			out = append(out, candidate{t: c.t, offers: offers})
		}
	}
	if reserved && kind == capacityBlock {
		return cheapestOnly(out)
	}
	return out
}

// cheapestKind returns the kind of the cheapest reserved offering.
func cheapestKind(in []candidate) (kind reservationKind, found bool) {
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

// largestReservations returns, for each zone and partition, the offering whose reservation has the most instances left.
func largestReservations(in []model.Offering) []model.Offering {
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

// cheapestOnly returns only the cheapest offering, because a fleet call launches in one capacity block.
func cheapestOnly(in []candidate) []candidate {
	if len(in) == 0 {
		return nil
	}
	best := slices.MinFunc(in, byPrice)
	best.offers = []model.Offering{slices.MinFunc(best.offers, model.Offering.Compare)}
	return []candidate{best}
}
