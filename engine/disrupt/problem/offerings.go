package problem

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// ReservationOf returns the capacity reservation in which the candidate's instance runs. It is empty if there is none,
// or if the labels of the node match several reservations.
func (p *Problem) ReservationOf(c *Candidate) string {
	t := p.types[c.Node.Pool][c.Type()]
	if t == nil || c.CapacityType() != apiv1.CapacityTypeReserved {
		return ""
	}
	found, labels := "", require.FromLabels(c.Node.Labels)
	for _, o := range t.Offerings {
		_, its := o.Requirements.Intersects(labels)
		if o.ReservationID == "" || o.Zone != c.Node.Labels[corev1.LabelTopologyZone] || !its {
			continue
		}
		if found != "" && found != o.ReservationID {
			return ""
		}
		found = o.ReservationID
	}
	return found
}

// offers reports whether an offering matches. Only offerings count with which the NodePool may launch nodes. They need not be
// available.
func (st *State) offers(pool *model.Pool, match func(model.Offering) bool) bool {
	return slices.ContainsFunc(st.Cluster.Types(pool.Name), func(t *model.InstanceType) bool {
		if _, ok := t.Requirements.Intersects(pool.Requirements); !ok {
			return false
		}
		return slices.ContainsFunc(t.Offerings, func(o model.Offering) bool {
			_, ok := pool.Requirements.Intersects(o.Requirements)
			return ok && match(o)
		})
	})
}

// ReservationFull reports whether no instance is left for the NodePool in the capacity reservation after the accepted commands.
func (st *State) ReservationFull(pool *model.Pool, id string) bool {
	return !st.offers(pool, func(o model.Offering) bool { return o.ReservationID == id && o.ReservationCapacity > 0 })
}

// OnlyFullReservations reports whether the NodePool can launch nodes from capacity reservations only, and all of them
// are full or unavailable. An offering outside reservations counts as launchable even if it is not available now,
// because it may become available again.
func (st *State) OnlyFullReservations(pool *model.Pool) bool {
	return st.offers(pool, func(o model.Offering) bool { return o.ReservationID != "" }) &&
		!st.offers(pool, func(o model.Offering) bool { return o.ReservationID == "" || o.Launchable() })
}

// Offered reports whether the NodePool can launch a node from the capacity reservation once an instance of it is free.
func (st *State) Offered(pool *model.Pool, id string) bool {
	return id != "" && st.offers(pool, func(o model.Offering) bool { return o.ReservationID == id && o.Available })
}

// typesAfter returns the instance types of all NodePools of s after the planned nodes have used instances of capacity
// reservations, nil if they use none.
func typesAfter(s *model.Snapshot, planned []model.PlannedNode) map[string][]*model.InstanceType {
	change := map[string]int{}
	for i := range planned {
		if id := planned[i].Offering.ReservationID; id != "" {
			change[id]--
		}
	}
	return withReservations(s, change)
}

// withReservations returns the instance types of all NodePools of s with the change, by ID, of the number of instances
// that reservations have left. It returns nil if nothing changes.
func withReservations(s *model.Snapshot, change map[string]int) map[string][]*model.InstanceType {
	if len(change) == 0 {
		return nil
	}
	return model.WithOfferings(s, func(_ *model.InstanceType, o *model.Offering) bool {
		o.ReservationCapacity += change[o.ReservationID]
		return change[o.ReservationID] != 0
	})
}

// released returns by how much the bill falls when the node ends, in dollars per hour. c.Has must be true for the node.
func (p *Problem) released(c *commitment.Coverage, node string) float64 {
	class := c.Class(node)
	price, known := p.releasedAlone[class]
	if !known {
		price = c.Released(node)
		p.releasedAlone[class] = price
	}
	return price
}

// priceOfSet returns by how much the bill falls when the nodes end, in dollars per hour. cluster has these nodes.
func priceOfSet(cluster *model.Snapshot, set []*Candidate) float64 {
	sum, coverage, names := 0.0, cluster.Coverage(), make([]string, len(set))
	for i, c := range set {
		if names[i] = c.Node.Name; !coverage.Has(names[i]) {
			sum += c.Price
		}
	}
	return sum + coverage.Released(names...)
}

// withoutUnitsInUse returns the instance types of all NodePools of cluster without the units of commitments that the nodes
// planned for pending pods use. The result is nil if there are no commitments.
func withoutUnitsInUse(cluster *model.Snapshot, planned []model.PlannedNode) map[string][]*model.InstanceType {
	use := map[string]int64{}
	for i := range planned {
		o := planned[i].Offering
		use[o.Commitment] += o.UseOf(o.Commitment)
	}
	return WithUnits(cluster, func(c *commitment.Commitment) (units int64, deducted bool) {
		return max(0, c.Units-use[c.ID]), c.Deducted
	})
}

// WithUnits returns the instance types of all NodePools of s with changed commitments, nil if s has no commitments. The
// function units returns the new Units and Deducted of a commitment.
func WithUnits(s *model.Snapshot, units func(*commitment.Commitment) (units int64, deducted bool)) map[string][]*model.InstanceType {
	if s.Coverage() == nil {
		return nil
	}
	made := map[*commitment.Commitment]*commitment.Commitment{}
	return model.WithOfferings(s, func(_ *model.InstanceType, o *model.Offering) bool {
		o.Covers = slices.Clone(o.Covers)
		for i := range o.Covers {
			c := o.Covers[i].Commitment
			if made[c] == nil {
				own := *c
				own.Units, own.Deducted = units(c)
				made[c] = &own
			}
			o.Covers[i].Commitment = made[c]
		}
		return len(o.Covers) > 0
	})
}
