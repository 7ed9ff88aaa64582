package awsemu

import (
	"slices"
	"strconv"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// describeInstanceTypes lists the types that are offered in the region.
func (e *Emulator) describeInstanceTypes(r *request) (any, *wire.Error) {
	page, failure := wire.PageOf(r.form, 5, 100)
	if failure != nil {
		return nil, failure
	}
	types := e.world.Types()
	if names := r.form.List("InstanceType"); len(names) > 0 {
		if r.form.Has("MaxResults") {
			return nil, wire.Errorf("InvalidParameterCombination",
				"The parameter InstanceType cannot be used with the parameter MaxResults")
		}
		for _, name := range names {
			if _, ok := e.world.Type(name); !ok {
				return nil, wire.Errorf("InvalidInstanceType",
					"The following supplied instance types do not exist: [%s]", name)
			}
		}
		types = slices.DeleteFunc(types, func(t *catalog.Type) bool { return !slices.Contains(names, t.Name) })
	} else if page.Max == 0 {
		page.Max = 100
	}
	types, failure = wire.Keep(types, wire.Filters(r.form), e.typeLookup)
	if failure != nil {
		return nil, failure
	}
	types, next, failure := wire.Cut(types, func(t *catalog.Type) string { return t.Name }, page)
	if failure != nil {
		return nil, failure
	}
	out := describeInstanceTypesXML{Next: next}
	for _, t := range types {
		out.Types.Items = append(out.Types.Items, typeToXML(t))
	}
	return out, r.form.Err()
}

// typeLookup returns the values of a type for the filters of DescribeInstanceTypes.
func (e *Emulator) typeLookup(t *catalog.Type) wire.Lookup {
	if t == nil {
		t = &catalog.Type{}
	}
	return func(name string) ([]string, bool) {
		switch name {
		case "instance-type":
			return one(t.Name)
		case "bare-metal":
			return one(boolText(t.BareMetal))
		case "burstable-performance-supported":
			return one(boolText(t.Burstable))
		case "current-generation":
			return one(boolText(t.Current))
		case "hypervisor":
			return one(t.Hypervisor)
		case "memory-info.size-in-mib":
			return one(strconv.Itoa(t.MemoryMiB))
		case "processor-info.supported-architecture":
			return t.Arch, true
		case "supported-usage-class":
			return t.Usage, true
		case "supported-virtualization-type":
			return virtualization(t), true
		case "vcpu-info.default-vcpus":
			return one(strconv.Itoa(t.VCPU))
		case "instance-storage-supported":
			return one(boolText(t.NVMeGB > 0))
		case "network-info.efa-supported":
			return one(boolText(t.EFAs > 0))
		case "network-info.encryption-in-transit-supported":
			return one(boolText(t.Encryption))
		case "nitro-enclaves-support":
			return one(supported(t.Enclaves))
		case "supported-root-device-type":
			return one("ebs")
		}
		return nil, false
	}
}

// virtualization returns the virtualization types of an instance type: paravirtual for the families c1, m1, m2 and t1, and hvm
// for all others.
func virtualization(t *catalog.Type) []string {
	if slices.Contains([]string{"c1", "m1", "m2", "t1"}, strings.Split(t.Name, ".")[0]) {
		return []string{"paravirtual"}
	}
	return []string{"hvm"}
}

// supported returns a boolean as text of EC2's enumerations.
func supported(b bool) string {
	if b {
		return "supported"
	}
	return "unsupported"
}

type describeInstanceTypesXML struct {
	Types wire.Set[typeXML] `xml:"instanceTypeSet"`
	Next  string            `xml:"nextToken,omitempty"`
}

type typeXML struct {
	InstanceType       string           `xml:"instanceType"`
	CurrentGeneration  bool             `xml:"currentGeneration"`
	FreeTier           bool             `xml:"freeTierEligible"`
	UsageClasses       wire.Set[string] `xml:"supportedUsageClasses"`
	RootDevices        wire.Set[string] `xml:"supportedRootDeviceTypes"`
	Virtualization     wire.Set[string] `xml:"supportedVirtualizationTypes"`
	BareMetal          bool             `xml:"bareMetal"`
	Hypervisor         string           `xml:"hypervisor,omitempty"`
	Processor          processorXML     `xml:"processorInfo"`
	VCPU               vcpuXML          `xml:"vCpuInfo"`
	Memory             memoryXML        `xml:"memoryInfo"`
	StorageSupported   bool             `xml:"instanceStorageSupported"`
	Storage            *storageXML      `xml:"instanceStorageInfo"`
	EBS                ebsInfoXML       `xml:"ebsInfo"`
	Network            networkXML       `xml:"networkInfo"`
	GPU                *gpuInfoXML      `xml:"gpuInfo"`
	Accelerators       *acceleratorsXML `xml:"inferenceAcceleratorInfo"`
	Neuron             *neuronXML       `xml:"neuronInfo"`
	PlacementGroups    placementXML     `xml:"placementGroupInfo"`
	HibernationAllowed bool             `xml:"hibernationSupported"`
	Burstable          bool             `xml:"burstablePerformanceSupported"`
	DedicatedHosts     bool             `xml:"dedicatedHostsSupported"`
	AutoRecovery       bool             `xml:"autoRecoverySupported"`
	BootModes          wire.Set[string] `xml:"supportedBootModes"`
	NitroEnclaves      string           `xml:"nitroEnclavesSupport"`
}

type processorXML struct {
	Architectures wire.Set[string] `xml:"supportedArchitectures"`
	Clock         float64          `xml:"sustainedClockSpeedInGhz,omitempty"`
	Manufacturer  string           `xml:"manufacturer"`
}

type vcpuXML struct {
	Default        int `xml:"defaultVCpus"`
	Cores          int `xml:"defaultCores"`
	ThreadsPerCore int `xml:"defaultThreadsPerCore"`
}

type memoryXML struct {
	MiB int `xml:"sizeInMiB"`
}

type storageXML struct {
	GB    int               `xml:"totalSizeInGB"`
	Disks wire.Set[diskXML] `xml:"disks"`
	NVMe  string            `xml:"nvmeSupport"`
}

type diskXML struct {
	GB    int    `xml:"sizeInGB"`
	Count int    `xml:"count"`
	Type  string `xml:"type"`
}

type ebsInfoXML struct {
	Optimized     string           `xml:"ebsOptimizedSupport"`
	Encryption    string           `xml:"encryptionSupport"`
	OptimizedInfo *ebsBandwidthXML `xml:"ebsOptimizedInfo"`
	NVMe          string           `xml:"nvmeSupport"`
}

type ebsBandwidthXML struct {
	Baseline   int     `xml:"baselineBandwidthInMbps"`
	BaselineMB float64 `xml:"baselineThroughputInMBps"`
	Maximum    int     `xml:"maximumBandwidthInMbps"`
	MaximumMB  float64 `xml:"maximumThroughputInMBps"`
}

type networkXML struct {
	Performance string            `xml:"networkPerformance"`
	Interfaces  int               `xml:"maximumNetworkInterfaces"`
	MaxCards    int               `xml:"maximumNetworkCards"`
	DefaultCard int               `xml:"defaultNetworkCardIndex"`
	Cards       wire.Set[cardXML] `xml:"networkCards"`
	IPv4        int               `xml:"ipv4AddressesPerInterface"`
	IPv6        int               `xml:"ipv6AddressesPerInterface"`
	IPv6Allowed bool              `xml:"ipv6Supported"`
	ENA         string            `xml:"enaSupport"`
	EFAAllowed  bool              `xml:"efaSupported"`
	EFA         *efaXML           `xml:"efaInfo"`
	Encryption  bool              `xml:"encryptionInTransitSupported"`
}

type cardXML struct {
	Index       int     `xml:"networkCardIndex"`
	Performance string  `xml:"networkPerformance"`
	Interfaces  int     `xml:"maximumNetworkInterfaces"`
	Baseline    float64 `xml:"baselineBandwidthInGbps,omitempty"`
	Peak        float64 `xml:"peakBandwidthInGbps,omitempty"`
}

type efaXML struct {
	Maximum int `xml:"maximumEfaInterfaces"`
}

type gpuInfoXML struct {
	GPUs  wire.Set[gpuXML] `xml:"gpus"`
	Total int              `xml:"totalGpuMemoryInMiB"`
}

type gpuXML struct {
	Name         string    `xml:"name"`
	Manufacturer string    `xml:"manufacturer"`
	Count        int       `xml:"count"`
	Memory       memoryXML `xml:"memoryInfo"`
}

type acceleratorsXML struct {
	Accelerators wire.Set[acceleratorXML] `xml:"accelerators"`
}

type acceleratorXML struct {
	Count        int    `xml:"count"`
	Name         string `xml:"name"`
	Manufacturer string `xml:"manufacturer"`
}

type neuronXML struct {
	Devices wire.Set[neuronDeviceXML] `xml:"neuronDevices"`
}

type neuronDeviceXML struct {
	Count int           `xml:"count"`
	Name  string        `xml:"name"`
	Core  neuronCoreXML `xml:"coreInfo"`
}

type neuronCoreXML struct {
	Count int `xml:"count"`
}

type placementXML struct {
	Strategies wire.Set[string] `xml:"supportedStrategies"`
}

// typeToXML encodes the properties of a type for DescribeInstanceTypes.
func typeToXML(t *catalog.Type) typeXML {
	threads := 2
	if slices.Contains(t.Arch, "arm64") || strings.HasPrefix(t.Name, "m7a.") || strings.HasPrefix(t.Name, "c7a.") || strings.HasPrefix(t.Name, "r7a.") {
		threads = 1
	}
	threads = min(threads, t.VCPU)
	out := typeXML{
		InstanceType: t.Name, CurrentGeneration: t.Current, BareMetal: t.BareMetal, Hypervisor: t.Hypervisor,
		UsageClasses: wire.SetOf(t.Usage...), RootDevices: wire.SetOf("ebs"), Virtualization: wire.SetOf(virtualization(t)...),
		Processor:       processorXML{wire.SetOf(t.Arch...), t.ClockGHz, t.Manufacturer},
		VCPU:            vcpuXML{t.VCPU, t.VCPU / threads, threads},
		Memory:          memoryXML{t.MemoryMiB},
		Network:         networkToXML(t),
		EBS:             ebsToXML(t),
		PlacementGroups: placementXML{wire.SetOf("partition", "spread")},
		Burstable:       t.Burstable, AutoRecovery: !t.BareMetal, DedicatedHosts: !t.Burstable,
		BootModes: wire.SetOf("uefi"), NitroEnclaves: supported(t.Enclaves),
	}
	if t.ClusterPlacement {
		out.PlacementGroups.Strategies = wire.SetOf("cluster", "partition", "spread")
	}
	if !slices.Contains(t.Arch, "arm64") {
		out.BootModes = wire.SetOf("legacy-bios", "uefi")
	}
	if t.NVMeGB > 0 {
		kind, nvme := "hdd", "unsupported"
		if t.NVMe {
			kind, nvme = "ssd", "required"
		}
		out.StorageSupported = true
		out.Storage = &storageXML{GB: t.NVMeGB, NVMe: nvme, Disks: wire.SetOf(diskXML{t.NVMeGB / max(1, t.Disks), t.Disks, kind})}
	}
	addAccelerators(&out, t)
	return out
}

// networkToXML encodes the network properties of a type. The bandwidth is divided equally among its network cards.
func networkToXML(t *catalog.Type) networkXML {
	out := networkXML{
		Performance: t.NetworkText, Interfaces: t.ENIs, MaxCards: len(t.Cards), DefaultCard: t.DefaultCard,
		IPv4: t.IPsPerENI, IPv6: t.IPsPerENI, IPv6Allowed: true, ENA: "unsupported", Encryption: t.Encryption,
	}
	if t.Hypervisor == "nitro" || t.BareMetal {
		out.ENA = "required"
	}
	if t.EFAs > 0 {
		out.EFAAllowed, out.EFA = true, &efaXML{t.EFAs}
	}
	cards := float64(len(t.Cards))
	for index, interfaces := range t.Cards {
		out.Cards.Items = append(out.Cards.Items, cardXML{
			Index: index, Performance: t.NetworkText, Interfaces: interfaces,
			Baseline: float64(t.NetworkMbps) / 1000 / cards, Peak: float64(t.NetworkPeakMbps) / 1000 / cards,
		})
	}
	return out
}

// ebsToXML encodes the EBS properties of a type.
func ebsToXML(t *catalog.Type) ebsInfoXML {
	out := ebsInfoXML{Optimized: "unsupported", Encryption: "supported", NVMe: "unsupported"}
	if t.Hypervisor == "nitro" || t.BareMetal {
		out.NVMe = "required"
	}
	if t.EBSMbps > 0 {
		out.Optimized = "supported"
		if t.EBSDefault {
			out.Optimized = "default"
		}
		out.OptimizedInfo = &ebsBandwidthXML{
			t.EBSBaselineMbps, float64(t.EBSBaselineMbps) / 8, t.EBSMbps, float64(t.EBSMbps) / 8,
		}
	}
	return out
}

// addAccelerators adds GPUs and AWS machine-learning chips.
func addAccelerators(out *typeXML, t *catalog.Type) {
	if len(t.GPUs) > 0 {
		out.GPU = &gpuInfoXML{}
		for _, g := range t.GPUs {
			out.GPU.GPUs.Items = append(out.GPU.GPUs.Items, gpuXML{g.Name, g.Manufacturer, g.Count, memoryXML{g.MemoryMiB}})
			out.GPU.Total += g.Count * g.MemoryMiB
		}
	}
	if len(t.Accelerators) > 0 {
		out.Accelerators = &acceleratorsXML{}
		for _, a := range t.Accelerators {
			out.Accelerators.Accelerators.Items = append(out.Accelerators.Accelerators.Items, acceleratorXML{a.Count, a.Name, a.Manufacturer})
		}
	}
	if len(t.Neuron) > 0 {
		out.Neuron = &neuronXML{}
		for _, n := range t.Neuron {
			out.Neuron.Devices.Items = append(out.Neuron.Devices.Items, neuronDeviceXML{n.Count, n.Name, neuronCoreXML{n.CoresPerDevice}})
		}
	}
}
