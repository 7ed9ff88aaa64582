package model

import (
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

// OfferingOf returns the offering of t by which the node was launched, available or not, nil if there is none. That
// is the first offering with the node's zone and capacity type that has no reservation or the node's reservation. If all
// have other reservations, it is the first one with the zone and capacity type.
func (t *InstanceType) OfferingOf(n *Node) (found *Offering) {
	zone, capacityType := n.Labels[corev1.LabelTopologyZone], n.Labels[apiv1.CapacityTypeLabelKey]
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if o.Zone != zone || o.CapacityType != capacityType {
			continue
		}
		if o.ReservationID == "" {
			return o
		}
		if _, its := o.Requirements.Intersects(require.FromLabels(n.Labels)); its {
			return o
		}
		if found == nil {
			found = o
		}
	}
	return found
}

// PriceOf returns the price of the node in dollars per hour, zero if it is not known.
func (s *Snapshot) PriceOf(n *Node) float64 {
	price, _ := s.Price(n)
	return price
}

// Price returns the price of the node in dollars per hour, from the instance types of its pool, less what commitments
// cover. ok is false if the price is not known.
func (s *Snapshot) Price(n *Node) (price float64, ok bool) {
	o := s.OfferingOf(n)
	switch {
	case o == nil:
		return 0, false
	case len(o.Covers) > 0:
		return o.Price - s.Coverage().Saves(n.Name), true
	}
	return o.Price, true
}

// OfferingOf returns the offering by which the node was launched, nil if the instance types of its pool have none.
func (s *Snapshot) OfferingOf(n *Node) *Offering {
	for _, t := range s.Types(n.Pool) {
		if t.Name == n.Labels[corev1.LabelInstanceTypeStable] {
			return t.OfferingOf(n)
		}
	}
	return nil
}
