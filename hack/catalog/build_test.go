package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBandwidth(t *testing.T) {
	for _, tt := range []struct {
		text string
		mbps int
		upTo bool
	}{
		{"Up to 10 Gigabit", 10000, true},
		{"28.12 Gigabit", 28120, false},
		{"4x 100 Gigabit", 400000, false},
		{"Moderate", 0, false},
		{"", 0, false},
	} {
		mbps, upTo := bandwidth(tt.text)
		if mbps != tt.mbps || upTo != tt.upTo {
			t.Errorf("bandwidth(%q) = %d, %v, want %d, %v", tt.text, mbps, upTo, tt.mbps, tt.upTo)
		}
	}
}

func TestAbbreviate(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1": "use1", "ap-southeast-3": "apse3", "us-gov-west-1": "usgw1",
		"eu-central-2": "euc2", "ap-northeast-1": "apne1", "mx-central-1": "mxc1",
	} {
		if got := abbreviate(region); got != want {
			t.Errorf("abbreviate(%s) = %s, want %s", region, got, want)
		}
	}
}

func TestZones(t *testing.T) {
	got := zones("us-east-1", []string{"use1-az1", "use1-az3", "use1-az4"})
	want := []zone{{"us-east-1a", "use1-az1"}, {"us-east-1c", "use1-az4"}, {"us-east-1e", "use1-az3"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("zones differ (-want +got):\n%s", diff)
	}
	if bits := zoneBits(got, []string{"use1-az3", "use1-az1"}); bits != 0b101 {
		t.Errorf("zoneBits = %b, want 101", bits)
	}
	if bits := zoneBits(got, nil); bits != 0b111 {
		t.Errorf("zoneBits of no list = %b, want all", bits)
	}
}

func TestBuild(t *testing.T) {
	base := 0.4
	prices := func(od, spot string) map[string]map[string]sourcePrice {
		return map[string]map[string]sourcePrice{
			"us-east-1":       {"linux": {OnDemand: od, SpotAvg: spot}},
			"us-east-1-atl-1": {"linux": {OnDemand: od}},
		}
	}
	source := []sourceType{
		{InstanceType: "x9.large", VCPU: 2, Memory: 8, Arch: []string{"arm64"}, Generation: "current",
			Network: "Up to 10 Gigabit", Processor: "AWS Graviton4 Processor", EBSMax: 10000,
			Zones:             map[string][]string{"us-east-1": {"use1-az1"}},
			PricingBySoftware: prices("0.1", "0.04")},
		{InstanceType: "x9.8xlarge", VCPU: 32, Memory: 128, Arch: []string{"arm64"}, Clock: "2.8 GHz",
			Network: "15 Gigabit", Processor: "AWS Graviton4 Processor", Generation: "current",
			Zones:             map[string][]string{"us-east-1": {"use1-az2", "use1-az1"}},
			PricingBySoftware: prices("1.6", "")},
		{InstanceType: "t9.micro", VCPU: 2, Memory: 0.5, Arch: []string{"x86_64"}, BasePerformance: &base,
			PricingBySoftware: prices("", "")},
		{InstanceType: "gone.large", VCPU: 2},
	}
	limits := map[string]limit{
		"x9.large":   {Interface: 3, IPv4PerInterface: 10, Cards: []int{3}, Hypervisor: "nitro", IsTrunkingCompatible: true, BranchInterface: 9},
		"x9.8xlarge": {Interface: 8, IPv4PerInterface: 30, Cards: []int{8}, Hypervisor: "nitro", BranchInterface: 54},
		"t9.micro":   {Interface: 2, IPv4PerInterface: 2, Cards: []int{2}, Hypervisor: "nitro"},
		"n9.large":   {Interface: 3, IPv4PerInterface: 10, Cards: []int{3}, Hypervisor: "nitro", IsTrunkingCompatible: true, BranchInterface: 20},
		"n9.micro":   {Interface: 2, IPv4PerInterface: 2, Cards: []int{2}, Hypervisor: "nitro"},
	}
	doc := build(source, limits)

	var names []string
	for _, typ := range doc.Types {
		names = append(names, typ.Name)
	}
	if diff := cmp.Diff([]string{"t9.micro", "x9.8xlarge", "x9.large"}, names); diff != "" {
		t.Fatalf("types differ (-want +got):\n%s", diff)
	}
	large := doc.Types[2]
	if large.NetworkMbps != 937 || large.NetworkPeakMbps != 10000 {
		t.Errorf("x9.large has %d/%d Mbps, want 937/10000 (a sixteenth of x9.8xlarge)", large.NetworkMbps, large.NetworkPeakMbps)
	}
	if large.ClockGHz != 2.8 {
		t.Errorf("x9.large runs at %v GHz, want that of its processor, 2.8", large.ClockGHz)
	}
	if large.BranchENIs != 9 || doc.Types[1].BranchENIs != 0 {
		t.Errorf("branch interfaces are %d and %d, want 9 and (not trunking) 0", large.BranchENIs, doc.Types[1].BranchENIs)
	}
	if !doc.Types[0].Burstable || doc.Types[0].MemoryMiB != 512 {
		t.Errorf("t9.micro is %+v, want burstable with 512 MiB", doc.Types[0])
	}
	if diff := cmp.Diff(map[string]int{"n9.large": 20}, doc.BranchENIs); diff != "" {
		t.Errorf("branch interfaces of newer types differ (-want +got):\n%s", diff)
	}
	want := []region{{
		Name:   "us-east-1",
		Zones:  []zone{{"us-east-1a", "use1-az1"}, {"us-east-1b", "use1-az2"}},
		Offers: [][4]float64{{1, 0b11, 1.6, 0}, {2, 0b01, 0.1, 0.04}},
	}}
	if diff := cmp.Diff(want, doc.Regions); diff != "" {
		t.Errorf("regions differ (-want +got):\n%s", diff)
	}
}

func TestAccelerators(t *testing.T) {
	for _, tt := range []struct {
		source sourceType
		want   instanceType
	}{
		{sourceType{InstanceType: "g5.12xlarge", GPU: 4, GPUMemory: 96, GPUModel: "NVIDIA A10G"},
			instanceType{GPUs: []gpu{{"A10G", "NVIDIA", 4, 24576}}}},
		{sourceType{InstanceType: "g6.xlarge", GPU: 1, GPUMemory: 24, GPUModel: "NVIDIA L4"},
			instanceType{GPUs: []gpu{{"L4", "NVIDIA", 1, 22888}}}},
		{sourceType{InstanceType: "g4ad.xlarge", GPU: 1, GPUMemory: 8, GPUModel: "AMD Radeon Pro V520"},
			instanceType{GPUs: []gpu{{"Radeon Pro V520", "AMD", 1, 8192}}}},
		{sourceType{InstanceType: "inf2.24xlarge", GPU: 6, GPUModel: "AWS Inferentia2"},
			instanceType{Neuron: []neuron{{"Inferentia2", 6, 2}}, Accelerators: []accelerator{{"Inferentia2", "AWS", 6}}}},
		{sourceType{InstanceType: "trn1.32xlarge", GPU: 16, GPUModel: "AWS Inferentia"},
			instanceType{Neuron: []neuron{{"Trainium", 16, 2}}}},
	} {
		var got instanceType
		got.Name = tt.source.InstanceType
		tt.want.Name = tt.source.InstanceType
		addAccelerators(&got, tt.source)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", tt.source.InstanceType, diff)
		}
	}
}
