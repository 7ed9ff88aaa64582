package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Types returns instance types of three families (compute, general, memory) in three generations and two makers, with the
// sizes, ratios and roughly the prices of EC2 in us-east-1, each on-demand in three zones.
func Types() []*model.InstanceType {
	var out []*model.InstanceType
	for _, family := range []struct {
		name  string
		ratio int64 // GiB a core
		price float64
	}{{"c", 2, 0.0446}, {"m", 4, 0.0504}, {"r", 8, 0.0661}} {
		for generation, factor := range map[int]float64{6: 1, 7: 1.05, 8: 1.1} {
			for _, maker := range []struct {
				suffix string
				factor float64
			}{{"a", 0.9}, {"i", 1}} {
				for _, cores := range []int64{2, 4, 8, 16, 32, 48, 64, 96, 128, 192} {
					out = append(out, instanceType(
						fmt.Sprintf("%s%d%s.%03d", family.name, generation, maker.suffix, cores),
						cores, cores*family.ratio, family.price*factor*maker.factor*float64(cores)))
				}
			}
		}
	}
	return out
}

func instanceType(name string, cores, gib int64, price float64) *model.InstanceType {
	zones := []string{"us-east-1a", "us-east-1b", "us-east-1c"}
	t := &model.InstanceType{Name: name}
	pods := min(29*cores/2, 737)
	t.Capacity = model.Resources{
		corev1.ResourceCPU: cores * 1000, corev1.ResourceMemory: gib << 30, corev1.ResourcePods: pods,
	}
	reserved := model.Resources{corev1.ResourceCPU: 60 + 5*cores, corev1.ResourceMemory: gib<<30*75/1000 + (11*pods+355)<<20}
	t.Allocatable = model.NewAllocatable(t.Capacity, reserved)
	t.Requirements = require.FromLabels(map[string]string{
		corev1.LabelInstanceTypeStable: name, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand,
	}).With(require.New(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones...))
	for _, zone := range zones {
		t.Offerings = append(t.Offerings, model.Offering{
			Zone: zone, CapacityType: apiv1.CapacityTypeOnDemand, Price: price, Available: true,
			Requirements: require.FromLabels(map[string]string{
				corev1.LabelTopologyZone: zone, apiv1.CapacityTypeLabelKey: apiv1.CapacityTypeOnDemand,
			}),
		})
	}
	return t
}

// Pool returns an on-demand pool without limits that is ready.
func Pool() *apiv1.NodePool {
	p := &apiv1.NodePool{}
	p.Name = "default"
	p.Status.Conditions = append(p.Status.Conditions, ready)
	return p
}
