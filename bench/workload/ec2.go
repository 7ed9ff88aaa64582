package workload

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/catalogue"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

const region = "us-east-1"

// odd are the families that ordinary pools do not use: Macs, huge memory, clusters, and special accelerators.
var odd = []string{"mac", "u-", "u7", "hpc", "f1", "f2", "vt", "dl", "trn", "inf"}

var typeName = regexp.MustCompile(`^([a-z]+)(?:-[0-9]+tb)?([0-9]+).*\.`)

// ec2 returns the ordinary types that the region offers on-demand, that are large enough, and for whose category and
// generation the function keep returns true. Each has offerings, on-demand and spot, in all zones that offer it, and its
// allocatable resources.
func ec2(keep func(category string, generation int) bool) ([]catalogue.Type, error) {
	catalog, err := shipped.Load()
	if err != nil {
		return nil, err
	}
	here, ok := catalog.Region(region)
	if !ok {
		return nil, fmt.Errorf("the shipped catalogue has no region %s", region)
	}
	var out []catalogue.Type
	for _, offer := range here.Offers {
		t := &catalog.Types[offer.Type]
		if offer.OnDemand == 0 || !ordinary(t) {
			continue
		}
		m := typeName.FindStringSubmatch(t.Name)
		if m == nil {
			return nil, fmt.Errorf("type %s: cannot tell its generation", t.Name)
		}
		generation, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", t.Name, err)
		}
		allocatable, enough := allocatable(t)
		if !enough || !keep(m[1], generation) {
			continue
		}
		out = append(out, catalogue.Type{
			Name: t.Name, Arch: arch(t), Allocatable: allocatable, Labels: labels(t, m[1], generation), Offerings: offerings(here, offer),
		})
	}
	return out, nil
}

func ordinary(t *shipped.Type) bool {
	for _, prefix := range odd {
		if strings.HasPrefix(t.Name, prefix) {
			return false
		}
	}
	return t.Current && !strings.Contains(t.Name, "metal") && t.MemoryMiB >= 2048
}

func arch(t *shipped.Type) string {
	for _, a := range t.Arch {
		if a == "arm64" {
			return apiv1.ArchitectureArm64
		}
	}
	return apiv1.ArchitectureAmd64
}

// allocatable returns the allocatable resources of a node in EKS, and false if they are too small to be useful. 7.5% of
// the memory are subtracted for the hypervisor and the kernel, and the kubelet's reserved resources depend on the
// number of pods and cores.
func allocatable(t *shipped.Type) (amounts map[string]string, enough bool) {
	interfaces := int64(0)
	for _, n := range t.Cards {
		interfaces += n
	}
	pods := interfaces*(t.IPsPerENI-1) + 2
	memory := int64(float64(t.MemoryMiB)*(1-0.075)) - (11*pods + 255) - 100
	reserved := 60 + 5*float64(min(max(t.VCPU-2, 0), 2)) + 2.5*float64(max(t.VCPU-4, 0))
	if t.VCPU > 1 {
		reserved += 10
	}
	amounts = map[string]string{
		"cpu":    fmt.Sprintf("%dm", int64(float64(t.VCPU*1000)-reserved)),
		"memory": fmt.Sprintf("%dMi", memory), "pods": strconv.FormatInt(pods, 10), "ephemeral-storage": "17Gi",
	}
	gpus := int64(0)
	for _, d := range t.GPUs {
		gpus += d.Count
	}
	if gpus > 0 {
		amounts["nvidia.com/gpu"] = strconv.FormatInt(gpus, 10)
	}
	return amounts, memory > 256
}

func labels(t *shipped.Type, category string, generation int) map[string]string {
	family, size, _ := strings.Cut(t.Name, ".")
	const group = "karpenter.k8s.aws/instance-"
	return map[string]string{
		group + "family": family, group + "size": size, group + "category": category, group + "generation": strconv.Itoa(generation),
		group + "cpu": strconv.FormatInt(t.VCPU, 10), group + "memory": strconv.FormatInt(t.MemoryMiB, 10),
	}
}

func offerings(r shipped.Region, o shipped.Offer) []catalogue.Offering {
	var out []catalogue.Offering
	for _, zone := range r.Sells(o) {
		out = append(out, catalogue.Offering{Zone: zone, CapacityType: apiv1.CapacityTypeOnDemand, Price: o.OnDemand})
		if o.Spot > 0 {
			out = append(out, catalogue.Offering{Zone: zone, CapacityType: apiv1.CapacityTypeSpot, Price: o.Spot})
		}
	}
	return out
}
