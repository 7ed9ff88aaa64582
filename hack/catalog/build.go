package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// build makes the document, without dates and sources, from the source of instances and the table of limits. It
// leaves out types without limits.
func build(source []sourceType, limits map[string]limit) document {
	source = slices.Clone(source)
	source = slices.DeleteFunc(source, func(s sourceType) bool {
		_, ok := limits[s.InstanceType]
		return !ok
	})
	slices.SortFunc(source, func(a, b sourceType) int { return cmp.Compare(a.InstanceType, b.InstanceType) })
	doc := document{Schema: 1}
	baselines, clocks := baselinePerVCPU(source), clockByProcessor(source)
	for _, s := range source {
		t := facts(s, limits[s.InstanceType])
		if t.ClockGHz == 0 {
			t.ClockGHz = clocks[s.Processor]
		}
		if t.NetworkMbps == 0 && t.NetworkPeakMbps > 0 {
			t.NetworkMbps = min(t.NetworkPeakMbps, int(baselines[family(s.InstanceType)]*float64(s.VCPU)))
		}
		doc.Types = append(doc.Types, t)
	}
	doc.Regions = regions(source)
	doc.BranchENIs = branchesOfOthers(doc.Types, limits)
	return doc
}

// branchesOfOthers returns the branch interfaces of the types that are not in the list, such as types that are newer
// than the source of instances. EC2 itself does not publish them.
func branchesOfOthers(types []instanceType, limits map[string]limit) map[string]int {
	out := map[string]int{}
	for name, l := range limits {
		if l.IsTrunkingCompatible && l.BranchInterface > 0 {
			out[name] = l.BranchInterface
		}
	}
	for _, t := range types {
		delete(out, t.Name)
	}
	return out
}

// facts returns the facts about one type that do not depend on other types.
func facts(s sourceType, l limit) instanceType {
	t := instanceType{
		Name:         s.InstanceType,
		VCPU:         s.VCPU,
		MemoryMiB:    int(s.Memory * 1024),
		Arch:         s.Arch,
		Manufacturer: cpuManufacturer(s.Processor),
		ClockGHz:     clock(s.Clock),
		Hypervisor:   l.Hypervisor,
		BareMetal:    l.IsBareMetal,
		Current:      s.Generation == "current",
		Burstable:    s.BasePerformance != nil,
		Usage:        usage(s),

		ENIs:        l.Interface,
		IPsPerENI:   l.IPv4PerInterface,
		Cards:       l.Cards,
		DefaultCard: l.DefaultNetworkCardIndex,
		Trunking:    l.IsTrunkingCompatible,
		NetworkText: s.Network,

		EBSMbps:         s.EBSMax,
		EBSBaselineMbps: s.EBSBaseline,
		EBSDefault:      s.EBSMax > 0 && s.Generation == "current",

		ClusterPlacement: s.PlacementGroup,
	}
	if l.IsTrunkingCompatible {
		t.BranchENIs = l.BranchInterface
	}
	peak, upTo := bandwidth(s.Network)
	t.NetworkPeakMbps = peak
	if !upTo {
		t.NetworkMbps = peak
	}
	if s.Storage != nil {
		t.NVMeGB, t.NVMe, t.Disks = s.Storage.Devices*s.Storage.Size, s.Storage.NVMe, s.Storage.Devices
	}
	addAccelerators(&t, s)
	addFeatures(&t)
	return t
}

// usage returns the usage classes: spot if any region has a spot price.
func usage(s sourceType) []string {
	classes := []string{"on-demand"}
	for _, software := range s.PricingBySoftware {
		if price(software["linux"].SpotAvg) > 0 {
			return append(classes, "spot")
		}
	}
	return classes
}

// cpuManufacturer returns the maker of a processor.
func cpuManufacturer(processor string) string {
	for _, maker := range []string{"Apple", "AMD", "AWS"} {
		if strings.Contains(processor, maker) {
			return maker
		}
	}
	return "Intel"
}

// family returns the part of a type's name before the dot.
func family(name string) string {
	f, _, _ := strings.Cut(name, ".")
	return f
}

// baselinePerVCPU returns, by family, the bandwidth per vCPU in Mbps of the
// smallest type with a fixed bandwidth.
func baselinePerVCPU(source []sourceType) map[string]float64 {
	smallest := map[string]sourceType{}
	for _, s := range source {
		mbps, upTo := bandwidth(s.Network)
		if upTo || mbps == 0 {
			continue
		}
		old, ok := smallest[family(s.InstanceType)]
		if !ok || s.VCPU < old.VCPU {
			smallest[family(s.InstanceType)] = s
		}
	}
	perVCPU := map[string]float64{}
	for f, s := range smallest {
		mbps, _ := bandwidth(s.Network)
		perVCPU[f] = float64(mbps) / float64(s.VCPU)
	}
	return perVCPU
}

// clockByProcessor returns the most frequent clock of each processor, in GHz, for types without their own. Of equally
// frequent clocks it returns the lowest.
func clockByProcessor(source []sourceType) map[string]float64 {
	counts := map[string]map[float64]int{}
	for _, s := range source {
		if c := clock(s.Clock); c > 0 {
			if counts[s.Processor] == nil {
				counts[s.Processor] = map[float64]int{}
			}
			counts[s.Processor][c]++
		}
	}
	best := map[string]float64{}
	for processor, byClock := range counts {
		clocks := slices.Sorted(maps.Keys(byClock))
		best[processor] = slices.MaxFunc(clocks, func(a, b float64) int {
			return cmp.Or(cmp.Compare(byClock[a], byClock[b]), cmp.Compare(b, a))
		})
	}
	return best
}
