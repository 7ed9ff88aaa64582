package kwok

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// The resources and prices of the generic instance types.
const (
	// podsPerCPU is the maximum number of pods for each CPU, and mostPods that of any type.
	podsPerCPU  = 16
	mostPods    = 1024
	genericDisk = "20Gi"
	// dollarsPerCPU and dollarsPerGB are prices per hour. A gigabyte is 1e9 bytes. spotPart is the spot price as a
	// share of the on-demand price.
	dollarsPerCPU = 0.025
	dollarsPerGB  = 0.001
	spotPart      = 0.7
)

// families are the generic families and their GiB of memory for each CPU.
var families = []struct {
	name   string
	gibCPU int64
}{{"c", 2}, {"s", 4}, {"m", 8}}

// GenericTypes returns the 144 instance types that are used without a file, in name order. There are twelve sizes of
// three families, for two architectures and two operating systems. Each has on-demand and spot offerings in four zones.
func GenericTypes() []*cloud.InstanceType {
	var out []*cloud.InstanceType
	for _, cpu := range []int64{1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256} {
		for _, f := range families {
			for _, os := range []corev1.OSName{corev1.Linux, corev1.Windows} {
				for _, arch := range []string{apiv1.ArchitectureAmd64, apiv1.ArchitectureArm64} {
					out = append(out, generic(f.name, cpu, f.gibCPU*cpu, arch, string(os)).build())
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *cloud.InstanceType) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// generic describes one generic type.
func generic(family string, cpu, gib int64, arch, os string) description {
	memory := resource.NewQuantity(gib<<30, resource.BinarySI)
	price := dollarsPerCPU*float64(cpu) + dollarsPerGB*float64(memory.Value())/1e9
	d := description{
		Name:             fmt.Sprintf("%s-%dx-%s-%s", family, cpu, arch, os),
		Architecture:     arch,
		OperatingSystems: []string{os},
		Resources: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewQuantity(cpu, resource.DecimalSI),
			corev1.ResourceMemory:           *memory,
			corev1.ResourceEphemeralStorage: resource.MustParse(genericDisk),
			corev1.ResourcePods:             *resource.NewQuantity(min(podsPerCPU*cpu, mostPods), resource.DecimalSI),
		},
	}
	for _, zone := range []string{"test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"} {
		d.Offerings = append(d.Offerings,
			offering(spotPart*price, zone, apiv1.CapacityTypeSpot), offering(price, zone, apiv1.CapacityTypeOnDemand))
	}
	return d
}

func offering(price float64, zone, capacityType string) offeringDescription {
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	return offeringDescription{Price: price, Requirements: []corev1.NodeSelectorRequirement{
		in(apiv1.CapacityTypeLabelKey, capacityType), in(corev1.LabelTopologyZone, zone),
	}}
}
