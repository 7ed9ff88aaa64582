package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// An Inventory has the instance types of a region. Machines are in name order. Zones has, by the name of a machine,
// the names of the zones in which EC2 offers it.
type Inventory struct {
	Machines []Machine
	Zones    map[string][]string
}

// Build returns the instance types that nodes of shape s may have, in name order. A type has offerings in the zones
// where EC2 offers it and the class has a subnet. The offerings have no price and are not available. Price returns
// copies that have both. Build omits a type without such a zone, a type that the shape or the image family excludes,
// and a type for which the expression of maxPods has no value. A type that is neither on-demand nor spot has offerings
// only in the class's reservations. Build omits it if there are none.
func Build(inv Inventory, s Shape) []*model.InstanceType {
	var out []*model.InstanceType
	for _, m := range inv.Machines {
		if t, ok := build(m, inv.Zones[m.Name], s); ok {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *model.InstanceType) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func build(m Machine, sold []string, s Shape) (*model.InstanceType, bool) {
	var zones, ids []string
	for _, z := range slices.Sorted(maps.Keys(s.Zones)) {
		if slices.Contains(sold, z) {
			zones = append(zones, z)
			if s.Zones[z] != "" {
				ids = append(ids, s.Zones[z])
			}
		}
	}
	reserved := s.reservedFor(m.Name, zones)
	usage := capacityTypes(m, len(reserved) > 0)
	if len(zones) == 0 || len(usage) == 0 || s.Family.Windows() && m.arm() {
		return nil, false
	}
	reqs := Requirements(m, s)
	if s.excludes(m, reqs) != "" {
		return nil, false
	}
	s, err := s.on(m)
	if err != nil && s.Kubelet.MaxPods == nil && slices.Contains(s.Kubelet.Expressions, "maxPods") {
		return nil, false // the maximum number of pods is not known
	}
	reqs = reqs.With(
		require.New(corev1.LabelTopologyZone, require.In, zones...),
		require.New(apiv1.CapacityTypeLabelKey, require.In, usage...),
	)
	if len(ids) > 0 {
		reqs = reqs.With(require.New(awsv1.LabelTopologyZoneID, require.In, ids...))
	} else {
		reqs = reqs.With(require.New(awsv1.LabelTopologyZoneID, require.DoesNotExist))
	}
	capacity := Capacity(m, s)
	if bytes, ok := s.seen(m, reqs); ok {
		capacity[corev1.ResourceMemory] = bytes
	}
	t := &model.InstanceType{
		Name:         m.Name,
		Requirements: reqs,
		Capacity:     capacity,
		Allocatable:  model.NewAllocatable(capacity, Overhead(m, s, capacity)),
		Attach:       map[string]int{ebsDriver: Attachments(m, s)},
	}
	for _, zone := range zones {
		for _, u := range usage {
			if u != apiv1.CapacityTypeReserved {
				t.Offerings = append(t.Offerings, s.spread(offering(zone, s.Zones[zone], u))...)
			}
		}
	}
	for _, c := range reserved {
		t.Offerings = append(t.Offerings, s.spread(reservedOffering(c, s.Zones[c.AvailabilityZone]))...)
	}
	return t, true
}

// capacityTypes returns the capacity types in which nodes on m can be launched. reserved is true if the class has a
// reservation for m.
func capacityTypes(m Machine, reserved bool) []string {
	var out []string
	for _, u := range []string{apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot} {
		if slices.Contains(m.Usage, u) {
			out = append(out, u)
		}
	}
	if reserved {
		out = append(out, apiv1.CapacityTypeReserved)
	}
	return out
}

// reservedFor returns the class's reservations of the type in the zones.
func (s Shape) reservedFor(name string, zones []string) []awsv1.CapacityReservation {
	var out []awsv1.CapacityReservation
	for _, c := range s.Reserved {
		if c.InstanceType == name && slices.Contains(zones, c.AvailabilityZone) {
			out = append(out, c)
		}
	}
	return out
}

// spread returns one copy of the offering for each partition of the class's placement group. Without partitions it
// returns o alone.
func (s Shape) spread(o model.Offering) []model.Offering {
	if s.Group == nil || s.Group.Partitions == 0 {
		return []model.Offering{o}
	}
	out := make([]model.Offering, s.Group.Partitions)
	for n, value := range s.Group.PartitionValues() {
		out[n] = o
		out[n].Requirements = o.Requirements.With(require.New(awsv1.LabelPlacementGroupPartition, require.In, value))
	}
	return out
}

// reservedOffering returns the offering of a capacity reservation.
func reservedOffering(c awsv1.CapacityReservation, zoneID string) model.Offering {
	o := offering(c.AvailabilityZone, zoneID, apiv1.CapacityTypeReserved)
	o.ReservationID = c.ID
	kind := cmp.Or(c.ReservationType, awsv1.CapacityReservationTypeDefault)
	o.Requirements = o.Requirements.Without(
		awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible,
	).With(
		require.New(awsv1.LabelCapacityReservationID, require.In, c.ID),
		require.New(awsv1.LabelCapacityReservationType, require.In, string(kind)),
		require.New(awsv1.LabelCapacityReservationInterruptible, require.In, strconv.FormatBool(c.Interruptible)),
	)
	return o
}

// offering returns the offering of a type in one zone with one capacity type.
func offering(zone, id, capacityType string) model.Offering {
	reqs := []require.Requirement{
		require.New(corev1.LabelTopologyZone, require.In, zone),
		require.New(apiv1.CapacityTypeLabelKey, require.In, capacityType),
		require.New(awsv1.LabelCapacityReservationID, require.DoesNotExist),
		require.New(awsv1.LabelCapacityReservationType, require.DoesNotExist),
		require.New(awsv1.LabelCapacityReservationInterruptible, require.DoesNotExist),
	}
	if id != "" {
		reqs = append(reqs, require.New(awsv1.LabelTopologyZoneID, require.In, id))
	}
	return model.Offering{Zone: zone, CapacityType: capacityType, Requirements: require.NewSet(reqs...)}
}
