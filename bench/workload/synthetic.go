package workload

import (
	"fmt"
	"strconv"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// synthetic returns n types of linear size. The i-th has i cores, 2i GiB and 10i pods, less 100 millicores and 10 MiB
// for kubelet. Its price is proportional to its size. It is offered on-demand in three zones, and as spot at 70% of
// the price in two zones. Upstream's own benchmark uses similar types.
func synthetic(n int) []catalogue.Type {
	out := make([]catalogue.Type, n)
	for i := range out {
		size := i + 1
		// Ten cents per core and ten cents per gigabyte of 10^9 bytes.
		price := 0.1*float64(size) + 0.1*float64(2*size)*(1<<30)/1e9
		out[i] = catalogue.Type{
			Name: fmt.Sprintf("synthetic-%d", size), Arch: apiv1.ArchitectureAmd64,
			Labels: map[string]string{},
			Allocatable: map[string]string{
				"cpu": fmt.Sprintf("%dm", 1000*size-100), "memory": fmt.Sprintf("%dMi", 2048*size-10), "pods": strconv.Itoa(10 * size),
			},
			Offerings: []catalogue.Offering{
				offering("us-east-1a", apiv1.CapacityTypeOnDemand, price), offering("us-east-1b", apiv1.CapacityTypeOnDemand, price),
				offering("us-east-1c", apiv1.CapacityTypeOnDemand, price),
				offering("us-east-1a", apiv1.CapacityTypeSpot, 0.7*price), offering("us-east-1b", apiv1.CapacityTypeSpot, 0.7*price),
			},
		}
	}
	return out
}

// generic returns the types of the KWOK provider for Linux on amd64: twelve sizes of three families, on-demand and
// spot in four zones. The price is 2.5 cents per core and 0.1 cents per gigabyte of 10^9 bytes.
func generic() []catalogue.Type {
	var out []catalogue.Type
	for _, cores := range []int{1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256} {
		for _, family := range []struct {
			name string
			gib  int
		}{{"c", 2}, {"s", 4}, {"m", 8}} {
			gib := cores * family.gib
			price := 0.025*float64(cores) + 0.001*float64(gib)*(1<<30)/1e9
			t := catalogue.Type{
				Name: fmt.Sprintf("%s-%dx-amd64-linux", family.name, cores), Arch: apiv1.ArchitectureAmd64, Labels: map[string]string{},
				Allocatable: map[string]string{
					"cpu": fmt.Sprintf("%dm", 1000*cores-100), "memory": fmt.Sprintf("%dMi", 1024*gib-10), "pods": strconv.Itoa(min(16*cores, 1024)),
				},
			}
			for _, zone := range []string{"test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"} {
				t.Offerings = append(t.Offerings, offering(zone, apiv1.CapacityTypeOnDemand, price), offering(zone, apiv1.CapacityTypeSpot, 0.7*price))
			}
			out = append(out, t)
		}
	}
	return out
}

func offering(zone, capacityType string, price float64) catalogue.Offering {
	return catalogue.Offering{Zone: zone, CapacityType: capacityType, Price: price}
}
