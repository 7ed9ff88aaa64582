package model

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/require"
)

// An InstanceType is a kind of machine that a pool may launch, as its node class would configure it.
type InstanceType struct {
	// Name is the cloud's name for it and the value of the label node.kubernetes.io/instance-type.
	Name string
	// Requirements are the labels a node of this type has (one value), may have (several) or lacks (DoesNotExist). Every
	// label that the provider calls well-known is defined here.
	Requirements require.Set
	// Offerings are the ways to buy it, available or not.
	Offerings []Offering
	// Capacity is what the machine has, before anything is reserved.
	Capacity Resources
	// Allocatable is what pods may use: Capacity without what kubelet and system keep for themselves.
	Allocatable Resources
	// Attach is how many volumes of each CSI driver pods may have attached to a node at once, by the driver's name. Of a driver
	// that is not in it nothing is known.
	Attach map[string]int
	// PriceOverlaid and CapacityOverlaid say that a NodeOverlay has changed some price, or the resources.
	PriceOverlaid, CapacityOverlaid bool
}

// An Offering is one way to buy an instance type: a zone and a capacity type, at a price.
type Offering struct {
	Zone         string
	CapacityType string
	// Price in dollars per hour.
	Price float64
	// Available is false while the cloud is known to have none, or it may not be used (no subnet, no price).
	Available bool
	// Requirements are the labels that this offering adds to the type's: zone, capacity type, zone id, reservation.
	Requirements require.Set
	// ReservationID names the reservation that a reserved offering draws from, empty otherwise.
	ReservationID string
	// ReservationCapacity is how many instances that reservation still holds.
	ReservationCapacity int
}

// Compare orders offerings of one type from most to least preferred: price, then zone, capacity type and reservation.
func (o Offering) Compare(p Offering) int {
	return cmp.Or(
		cmp.Compare(o.Price, p.Price),
		cmp.Compare(o.Zone, p.Zone),
		cmp.Compare(o.CapacityType, p.CapacityType),
		cmp.Compare(o.ReservationID, p.ReservationID),
	)
}

// Cheapest returns the least expensive available offering of t that reqs allow, and false if there is none.
func (t *InstanceType) Cheapest(reqs require.Set) (best Offering, ok bool) {
	for _, o := range t.Offerings {
		if !o.Available {
			continue
		}
		if _, fits := reqs.Intersects(o.Requirements); !fits {
			continue
		}
		if !ok || o.Compare(best) < 0 {
			best, ok = o, true
		}
	}
	return best, ok
}

// NewAllocatable returns what pods may use of capacity once overhead is reserved. Huge pages are cut out of memory, as
// kubelet does; nothing goes below zero.
func NewAllocatable(capacity, overhead Resources) Resources {
	free := capacity.Minus(overhead)
	for name, v := range capacity {
		if isHugePage(name) {
			free = free.Minus(Resources{corev1.ResourceMemory: v})
		}
	}
	for name, v := range free {
		free[name] = max(v, 0)
	}
	return free
}

// WithExtended returns capacity and allocatable of t with the given amounts of extended resources, whatever they were.
func (t *InstanceType) WithExtended(extra Resources) (capacity, allocatable Resources) {
	capacity, allocatable = t.Capacity.Plus(nil), t.Allocatable.Plus(nil)
	for name, v := range extra {
		if isHugePage(name) {
			left := saturate(allocatable[corev1.ResourceMemory]) + saturate(capacity[name]) - saturate(v)
			allocatable[corev1.ResourceMemory] = max(left, 0)
		}
		capacity[name], allocatable[name] = v, v
	}
	return capacity, allocatable
}

func isHugePage(name corev1.ResourceName) bool {
	return len(name) > len(corev1.ResourceHugePagesPrefix) &&
		name[:len(corev1.ResourceHugePagesPrefix)] == corev1.ResourceHugePagesPrefix
}
