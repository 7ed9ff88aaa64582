package catalog

import (
	"math"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// A Machine has the facts that EC2 publishes about an instance type. Facts that EC2 omits are zero,
// except Usage.
type Machine struct {
	Name      string
	VCPU      int64
	MemoryMiB int64
	// Arch lists the architectures with EC2's names, such as x86_64 and arm64. Only the first one is used.
	Arch         []string
	Manufacturer string
	ClockGHz     float64
	// Hypervisor is nitro or xen, empty on bare metal.
	Hypervisor string
	// Usage lists the capacity types with EC2's names: on-demand, spot, capacity-block.
	// If EC2 returns none, it is on-demand and spot.
	Usage []string
	// Features lists extras of the processor, such as nested-virtualization.
	Features []string

	// Cards has the maximum number of network interfaces of each network card. DefaultCard and the indexes of Cards are EC2's
	// indexes of network cards.
	Cards       []int64
	DefaultCard int
	IPsPerENI   int64
	NoENA       bool
	NetworkMbps int64
	// Encryption is whether the type encrypts traffic between instances, nil if EC2 does not publish it.
	Encryption *bool
	EFAs       int64
	// BranchENIs is how many branch network interfaces pods can have. It is read from the catalogue in the binary (package
	// shipped).
	BranchENIs int64

	// EBSMbps is the largest bandwidth if EBS optimisation is the default, else 0.
	EBSMbps int64
	// StorageGB is the total size of local disks. NVMe is whether they are NVMe disks.
	StorageGB int64
	NVMe      bool
	// LocalDisks is the number of local disks. EBSAttachments is EC2's limit of attached volumes, 0 if it is not
	// published. Network interfaces and local disks count against that limit unless EBSDedicated is set.
	LocalDisks     int64
	EBSAttachments int64
	EBSDedicated   bool

	GPUs         []shipped.Device
	Neuron       []shipped.Device
	Accelerators []shipped.Device

	Enclaves bool
	// Strategies are the placement group strategies that the type supports.
	Strategies []string
}

// fromEC2 converts one type of a response of DescribeInstanceTypes. ok is false if a necessary fact is missing. known
// has the facts that EC2 does not return.
func fromEC2(t ec2types.InstanceTypeInfo, known shipped.Type) (m Machine, ok bool) {
	if t.VCpuInfo == nil || t.MemoryInfo == nil || t.ProcessorInfo == nil {
		return Machine{}, false
	}
	m = Machine{
		Name:         string(t.InstanceType),
		VCPU:         int64(value(t.VCpuInfo.DefaultVCpus)),
		MemoryMiB:    value(t.MemoryInfo.SizeInMiB),
		Arch:         texts(t.ProcessorInfo.SupportedArchitectures),
		Manufacturer: value(t.ProcessorInfo.Manufacturer),
		ClockGHz:     value(t.ProcessorInfo.SustainedClockSpeedInGhz),
		Features:     texts(t.ProcessorInfo.SupportedFeatures),
		Hypervisor:   string(t.Hypervisor),
		Usage:        texts(t.SupportedUsageClasses),
		Enclaves:     t.NitroEnclavesSupport == ec2types.NitroEnclavesSupportSupported,
		NetworkMbps:  known.NetworkMbps,
	}
	if len(m.Usage) == 0 {
		m.Usage = []string{"on-demand", "spot"} // the default, which applies to almost all types
	}
	if known.Trunking {
		m.BranchENIs = known.BranchENIs
	}
	m.readNetwork(t.NetworkInfo)
	m.readStorage(t)
	m.readAttachments(t)
	m.readDevices(t)
	if t.PlacementGroupInfo != nil {
		m.Strategies = texts(t.PlacementGroupInfo.SupportedStrategies)
	}
	return m, true
}

func (m *Machine) readNetwork(n *ec2types.NetworkInfo) {
	if n == nil {
		return
	}
	baseline := 0.0
	for _, c := range n.NetworkCards {
		i := int(value(c.NetworkCardIndex))
		for len(m.Cards) <= i {
			m.Cards = append(m.Cards, 0)
		}
		m.Cards[i] = int64(value(c.MaximumNetworkInterfaces))
		baseline += value(c.BaselineBandwidthInGbps)
	}
	if baseline > 0 {
		m.NetworkMbps = int64(baseline * 1000)
	}
	m.DefaultCard = int(value(n.DefaultNetworkCardIndex))
	m.IPsPerENI = int64(value(n.Ipv4AddressesPerInterface))
	m.NoENA = n.EnaSupport == ec2types.EnaSupportUnsupported
	m.Encryption = n.EncryptionInTransitSupported
	if n.EfaInfo != nil {
		m.EFAs = int64(value(n.EfaInfo.MaximumEfaInterfaces))
	}
}

func (m *Machine) readStorage(t ec2types.InstanceTypeInfo) {
	if s := t.InstanceStorageInfo; s != nil {
		m.StorageGB = value(s.TotalSizeInGB)
		m.NVMe = s.NvmeSupport != ec2types.EphemeralNvmeSupportUnsupported
	}
	if e := t.EbsInfo; e != nil && e.EbsOptimizedSupport == ec2types.EbsOptimizedSupportDefault && e.EbsOptimizedInfo != nil {
		m.EBSMbps = int64(value(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
	}
}

func (m *Machine) readDevices(t ec2types.InstanceTypeInfo) {
	if t.GpuInfo != nil {
		for _, g := range t.GpuInfo.Gpus {
			d := shipped.Device{Name: value(g.Name), Manufacturer: value(g.Manufacturer), Count: int64(value(g.Count))}
			if g.MemoryInfo != nil {
				d.MemoryMiB = int64(value(g.MemoryInfo.SizeInMiB))
			}
			m.GPUs = append(m.GPUs, d)
		}
	}
	if t.NeuronInfo != nil {
		for _, n := range t.NeuronInfo.NeuronDevices {
			d := shipped.Device{Name: value(n.Name), Count: int64(value(n.Count))}
			if n.CoreInfo != nil {
				d.CoresPerDevice = int64(value(n.CoreInfo.Count))
			}
			m.Neuron = append(m.Neuron, d)
		}
	}
	if t.InferenceAcceleratorInfo != nil {
		for _, a := range t.InferenceAcceleratorInfo.Accelerators {
			m.Accelerators = append(m.Accelerators, shipped.Device{
				Name: value(a.Name), Manufacturer: value(a.Manufacturer), Count: int64(value(a.Count)),
			})
		}
	}
}

// fromShipped converts an entry of the catalogue that is part of the binary.
func fromShipped(t shipped.Type) Machine {
	m := Machine{
		Name: t.Name, VCPU: t.VCPU, MemoryMiB: t.MemoryMiB, Arch: t.Arch, Manufacturer: t.Manufacturer,
		ClockGHz: t.ClockGHz, Hypervisor: t.Hypervisor, Usage: t.Usage,
		Cards: t.Cards, DefaultCard: t.DefaultCard, IPsPerENI: t.IPsPerENI, NetworkMbps: t.NetworkMbps,
		Encryption: &t.Encryption, EFAs: t.EFAs,
		StorageGB: t.NVMeGB, NVMe: t.NVMe,
		GPUs: t.GPUs, Neuron: t.Neuron, Accelerators: t.Accelerators, Enclaves: t.Enclaves,
	}
	if t.Trunking {
		m.BranchENIs = t.BranchENIs
	}
	if t.EBSDefault {
		m.EBSMbps = t.EBSMbps
	}
	m.Strategies = []string{"partition", "spread"}
	if t.ClusterPlacement {
		m.Strategies = append(m.Strategies, "cluster")
	}
	return m
}

// clockMHz is the sustained clock speed, 0 if unknown.
func (m Machine) clockMHz() int64 { return int64(math.Round(m.ClockGHz * 1000)) }

// arm reports whether the first supported architecture is arm64.
func (m Machine) arm() bool { return len(m.Arch) > 0 && m.Arch[0] == "arm64" }

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = string(v)
	}
	return out
}
