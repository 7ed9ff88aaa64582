package model

import (
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// OfferingOf returns the offering of t in the zone and with the capacity type of n.
func (t *InstanceType) OfferingOf(n *Node) (Offering, bool) {
	for _, o := range t.Offerings {
		if o.Zone == n.Labels[corev1.LabelTopologyZone] && o.CapacityType == n.Labels[apiv1.CapacityTypeLabelKey] {
			return o, true
		}
	}
	return Offering{}, false
}

// PriceOf returns the price of n in dollars per hour, by the instance types of its NodePool. It is zero if they do not
// include n's type in its zone and with its capacity type.
func (s *Snapshot) PriceOf(n *Node) float64 {
	for _, t := range s.Types(n.Pool) {
		if t.Name == n.Labels[corev1.LabelInstanceTypeStable] {
			o, _ := t.OfferingOf(n)
			return o.Price
		}
	}
	return 0
}
