package sample

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// zones are the zones of generated clusters.
var zones = [...]string{"zone-a", "zone-b", "zone-c"}

// gpu is the resource of GPUs.
const gpu corev1.ResourceName = "example.com/gpu"

// families are the families of instance types: memory per core, price per core and GPUs per 8 cores.
var families = []struct {
	name   string
	memory int64
	price  float64
	gpus   int64
}{
	{"std2", 4, 0.048, 0}, {"cpu2", 2, 0.0425, 0}, {"mem2", 8, 0.063, 0}, {"std3", 4, 0.0504, 0}, {"arm3", 4, 0.0408, 0}, {"acc1", 4, 0.15, 1},
}

// reservedType is a type with a capacity reservation.
const reservedType = "std3.16"

// instanceTypes returns the instance types of the cloud in name order. Some offerings have no capacity.
func instanceTypes() []*model.InstanceType {
	var out []*model.InstanceType
	for _, f := range families {
		for _, cores := range []int64{2, 4, 8, 16, 32, 64} {
			if f.gpus > 0 && cores < 8 {
				continue
			}
			out = append(out, instanceType(f.name, cores, cores*f.memory<<30, cores/8*f.gpus, float64(cores)*f.price))
		}
	}
	slices.SortFunc(out, func(a, b *model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func instanceType(family string, cores, memory, gpus int64, price float64) *model.InstanceType {
	arch := apiv1.ArchitectureAmd64
	if family == "arm3" {
		arch = apiv1.ArchitectureArm64
	}
	t := &model.InstanceType{Name: fmt.Sprintf("%s.%d", family, cores)}
	t.Capacity = model.Resources{corev1.ResourceCPU: cores * 1000, corev1.ResourceMemory: memory, corev1.ResourcePods: 110}
	if gpus > 0 {
		t.Capacity[gpu] = gpus
	}
	t.Allocatable = model.NewAllocatable(t.Capacity, model.Resources{corev1.ResourceCPU: 80, corev1.ResourceMemory: memory / 20})
	t.Requirements = require.FromLabels(map[string]string{
		corev1.LabelInstanceTypeStable: t.Name, corev1.LabelArchStable: arch, corev1.LabelOSStable: "linux",
	}).With(
		require.New(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones[:]...),
		require.New(apiv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot, apiv1.CapacityTypeReserved),
	)
	for i, zone := range zones {
		t.Offerings = append(t.Offerings,
			offering(zone, apiv1.CapacityTypeOnDemand, price, !(family == "acc1" && i == 2)),
			offering(zone, apiv1.CapacityTypeSpot, price*(0.3+0.05*float64(i)), !(cores == 64 && i == 1) && !(family == "cpu2" && i == 2)))
	}
	if t.Name == reservedType {
		o := offering(zones[0], apiv1.CapacityTypeReserved, price/100, true)
		o.ReservationID, o.ReservationCapacity = "reservation-1", 3
		t.Offerings = append(t.Offerings, o)
	}
	return t
}

func offering(zone, capacityType string, price float64, available bool) model.Offering {
	return model.Offering{
		Zone: zone, CapacityType: capacityType, Price: price, Available: available,
		Requirements: require.FromLabels(map[string]string{corev1.LabelTopologyZone: zone, apiv1.CapacityTypeLabelKey: capacityType}),
	}
}
