package catalog

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// An Inventory is what a region sells: machines in name order, and the zones of each by name.
type Inventory struct {
	Machines []Machine
	Zones    map[string][]string
}

// Build returns the types that nodes of shape s may be, in name order. Offerings are those of zones where the type is sold
// and the class has a subnet; they have no price and are not available until they are priced. A type without any such
// zone, or that this shape cannot run on, is left out.
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
	var usage []string
	for _, u := range []string{apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot} {
		if slices.Contains(m.Usage, u) {
			usage = append(usage, u)
		}
	}
	if len(zones) == 0 || len(usage) == 0 || s.Family.Windows() && m.arm() {
		return nil, false
	}
	reqs := Requirements(m, s)
	if s.excludes(m, reqs) != "" {
		return nil, false
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
	t := &model.InstanceType{
		Name:         m.Name,
		Requirements: reqs,
		Capacity:     capacity,
		Allocatable:  model.NewAllocatable(capacity, Overhead(m, s, capacity)),
	}
	for _, zone := range zones {
		for _, u := range usage {
			t.Offerings = append(t.Offerings, offering(zone, s.Zones[zone], u))
		}
	}
	return t, true
}

// offering returns the way to buy a type in one zone under one capacity type.
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
