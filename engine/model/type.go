package model

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/require"
)

// An InstanceType is a machine type that a pool may launch, with the configuration of the pool's node class.
type InstanceType struct {
	// Name is the cloud's name of the type and the value of the label node.kubernetes.io/instance-type.
	Name string
	// Requirements are the labels that a node of this type has (one value), may have (several values) or lacks
	// (DoesNotExist). Each well-known label of the provider is included.
	Requirements require.Set
	// Offerings are the offerings of the type, available or not.
	Offerings []Offering
	// Capacity is the capacity of the machine. Allocatable is Capacity less the reservations for kubelet and system, and less
	// the eviction thresholds of kubelet.
	Capacity    Resources
	Allocatable Resources
	// Attach is the attach limit of each CSI driver, by driver name: how many volumes a node can have attached at the same
	// time. The limit of a missing driver is unknown.
	Attach map[string]int
	// PriceOverlaid and CapacityOverlaid are true if a NodeOverlay has changed a price or a resource.
	PriceOverlaid, CapacityOverlaid bool
}

// An Offering is an instance type in one zone with one capacity type, at a price.
type Offering struct {
	Zone         string
	CapacityType string
	// Price is in dollars per hour.
	Price float64
	// Since is the time since which the price is in force, zero if that is not known. Karpenter may have read the price
	// only later.
	Since time.Time
	// Available is false if the cloud has no capacity, or if the offering cannot be used (no subnet, no price). A reserved
	// offering is available although its reservation is full: see Launchable.
	Available bool
	// Unpriced is true if the offering is unavailable only because its price is not known. A NodeOverlay with a price
	// makes it available.
	Unpriced bool
	// Quota is the quota of the account that is used up and makes the offering unavailable, such as "on-demand vCPUs for
	// Standard instances". It is empty if no quota does.
	Quota string
	// Requirements are the labels that this offering adds to the type's: zone, capacity type, zone id, reservation.
	Requirements require.Set
	// ReservationID is the capacity reservation of a reserved offering, empty for others.
	ReservationID string
	// ReservationCapacity is how many instances are left in the reservation.
	ReservationCapacity int
	// Covers are the commitments that cover nodes of the offering, in the order in which they apply. Price is the price of
	// a node that no commitment covers. CoveredPrice is what a wholly covered node still costs, such as fees.
	Covers       []commitment.Cover
	CoveredPrice float64
	// Commitment is the ID of the commitment that covers a planned node wholly, empty for none. See CoveredBy.
	Commitment string
}

// Launchable reports whether a node can be launched from the offering now: it is available, and if it is reserved, its
// reservation has an instance left.
func (o Offering) Launchable() bool {
	return o.Available && (o.ReservationID == "" || o.ReservationCapacity > 0)
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

// Cheapest returns the cheapest launchable offering of t that reqs allow, and false if there is none.
func (t *InstanceType) Cheapest(reqs require.Set) (best Offering, ok bool) {
	for _, o := range t.Offerings {
		if !o.Launchable() {
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

// Launchable ranges over the types that may be launched under reqs, with the cheapest launchable offering of each.
func Launchable(types []*InstanceType, reqs require.Set) iter.Seq2[*InstanceType, Offering] {
	return func(yield func(*InstanceType, Offering) bool) {
		for _, t := range types {
			if _, ok := t.Requirements.Intersects(reqs); !ok {
				continue
			}
			if o, ok := t.Cheapest(reqs); ok && !yield(t, o) {
				return
			}
		}
	}
}

// Distinct returns the number of different values that the types have for the label of r. Only values that r admits
// count, and only offerings that are launchable and that reqs allow. A type that leaves the value open counts none.
func Distinct(types []*InstanceType, r require.Requirement, reqs require.Set) int {
	values := map[string]bool{}
	for _, t := range types {
		for _, o := range t.Offerings {
			if _, ok := reqs.Intersects(o.Requirements); !ok || !o.Launchable() {
				continue
			}
			have, ok := o.Requirements.Get(r.Key())
			if !ok {
				have, _ = t.Requirements.Get(r.Key())
			}
			for v := range have.Listed() {
				if r.Has(v) {
					values[v] = true
				}
			}
		}
	}
	return len(values)
}

// NewAllocatable returns capacity less overhead. As in kubelet, huge pages are deducted from memory. No amount becomes
// negative.
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

// WithExtended returns capacity and allocatable of t in which the amounts of extra replace those of t. Allocatable
// memory is reduced by added huge pages.
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
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

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
	case o == nil || o.Unpriced:
		return 0, false
	case len(o.Covers) > 0:
		return o.Price - s.Coverage().Saves(n.Name), true
	}
	return o.Price, true
}

// OfferingOf returns the offering by which the node was launched, nil if the instance types of its pool have none.
func (s *Snapshot) OfferingOf(n *Node) *Offering {
	if t := s.typeOf(n); t != nil {
		return t.OfferingOf(n)
	}
	return nil
}

// typeOf returns the instance type of the node, nil if it is not among those of its pool.
func (s *Snapshot) typeOf(n *Node) *InstanceType {
	return TypeNamed(s.Types(n.Pool), n.Labels[corev1.LabelInstanceTypeStable])
}

// TypeNamed returns the type with the name, nil if there is none. types are in name order.
func TypeNamed(types []*InstanceType, name string) *InstanceType {
	i, ok := slices.BinarySearchFunc(types, name, func(t *InstanceType, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return types[i]
}
