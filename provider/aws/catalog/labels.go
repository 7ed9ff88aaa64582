package catalog

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// generation matches the category and the generation in a type name such as m5d.large or u-6tb1.metal.
var generation = regexp.MustCompile(`(^[a-z]+)(\-[0-9]+tb)?([0-9]+).*\.`)

// Requirements returns the labels of a node of shape s on m, without those that depend on the offering. Each other
// label of the provider is included, with its value or as DoesNotExist.
func Requirements(m Machine, s Shape) require.Set {
	l := labels{}
	l.one(corev1.LabelInstanceTypeStable, m.Name)
	l.one(corev1.LabelTopologyRegion, s.Region)
	l.one(corev1.LabelArchStable, arch(m))
	if s.Family.Windows() {
		l.one(corev1.LabelOSStable, string(corev1.Windows))
	} else {
		l.one(corev1.LabelOSStable, string(corev1.Linux))
	}
	l.one(corev1.LabelWindowsBuild, s.Family.WindowsBuild)
	l.one(awsv1.LabelNodeClass, s.Class)
	l.naming(m)
	l.hardware(m)
	l.devices(m)
	l = append(l, require.New(awsv1.LabelInstanceTenancy, require.In, awsv1.TenancyDefault, awsv1.TenancyDedicated))
	if len(s.reservedFor(m.Name, slices.Collect(maps.Keys(s.Zones)))) == 0 { // otherwise the offerings have these labels
		for _, key := range []string{
			awsv1.LabelCapacityReservationID, awsv1.LabelCapacityReservationType, awsv1.LabelCapacityReservationInterruptible,
		} {
			l.one(key, "")
		}
	}
	l.placement(s.Group)
	return require.NewSet(l...)
}

// labels is a list of requirements on labels.
type labels []require.Requirement

// one adds a label with the value. If the value is empty, it adds DoesNotExist.
func (l *labels) one(key, value string) {
	if value == "" {
		*l = append(*l, require.New(key, require.DoesNotExist))
		return
	}
	*l = append(*l, require.New(key, require.In, value))
}

// number adds a label with the value n. If n is 0, there is no such device or the value is
// unknown, and it adds DoesNotExist.
func (l *labels) number(key string, n int64) {
	if n == 0 {
		l.one(key, "")
		return
	}
	l.one(key, strconv.FormatInt(n, 10))
}

// placement adds the labels of the placement group in which nodes are launched.
func (l *labels) placement(g *placement.Group) {
	if g == nil {
		l.one(awsv1.LabelPlacementGroupID, "")
		l.one(awsv1.LabelPlacementGroupPartition, "")
		return
	}
	l.one(awsv1.LabelPlacementGroupID, g.ID)
	if g.Partitions == 0 {
		l.one(awsv1.LabelPlacementGroupPartition, "")
		return
	}
	*l = append(*l, require.New(awsv1.LabelPlacementGroupPartition, require.In, g.PartitionValues()...))
}

func (l *labels) naming(m Machine) {
	var category, gen, family, size string
	if match := generation.FindStringSubmatch(m.Name); match != nil {
		category, gen = match[1], match[3]
	}
	if parts := strings.Split(m.Name, "."); len(parts) == 2 {
		family, size = parts[0], parts[1]
	}
	l.one(awsv1.LabelInstanceCategory, category)
	l.one(awsv1.LabelInstanceGeneration, gen)
	l.one(awsv1.LabelInstanceFamily, family)
	l.one(awsv1.LabelInstanceSize, size)
	l.one(awsv1.LabelInstanceCapabilityFlex, strconv.FormatBool(strings.Contains(family, "-flex")))
}

func (l *labels) hardware(m Machine) {
	*l = append(*l, require.New(awsv1.LabelInstanceHypervisor, require.In, m.Hypervisor)) // the value is empty on bare metal
	encryption := ""
	if m.Encryption != nil {
		encryption = strconv.FormatBool(*m.Encryption)
	}
	l.one(awsv1.LabelInstanceEncryptionInTransitSupported, encryption)
	l.number(awsv1.LabelInstanceCPU, m.VCPU)
	l.one(awsv1.LabelInstanceCPUManufacturer, kebab(m.Manufacturer))
	l.number(awsv1.LabelInstanceCPUSustainedClockSpeedMhz, m.clockMHz())
	l.number(awsv1.LabelInstanceMemory, m.MemoryMiB)
	l.number(awsv1.LabelInstanceEBSBandwidth, m.EBSMbps)
	l.number(awsv1.LabelInstanceNetworkBandwidth, m.NetworkMbps)
	nvme := int64(0)
	if m.NVMe {
		nvme = m.StorageGB
	}
	l.number(awsv1.LabelInstanceLocalNVME, nvme)
}

func (l *labels) devices(m Machine) {
	var gpu, other shipped.Device
	if len(m.GPUs) == 1 {
		gpu = m.GPUs[0]
	}
	switch {
	case len(m.Neuron) == 1:
		other = m.Neuron[0]
		other.Manufacturer = "aws"
	case len(m.Neuron) == 0 && len(m.Accelerators) == 1:
		other = m.Accelerators[0]
	}
	l.one(awsv1.LabelInstanceGPUName, kebab(gpu.Name))
	l.one(awsv1.LabelInstanceGPUManufacturer, kebab(gpu.Manufacturer))
	l.number(awsv1.LabelInstanceGPUCount, gpu.Count)
	l.number(awsv1.LabelInstanceGPUMemory, gpu.MemoryMiB)
	l.one(awsv1.LabelInstanceAcceleratorName, kebab(other.Name))
	l.one(awsv1.LabelInstanceAcceleratorManufacturer, kebab(other.Manufacturer))
	l.number(awsv1.LabelInstanceAcceleratorCount, other.Count)
}

// kebab converts a name to lower case and replaces spaces by hyphens, for the value of a label.
func kebab(s string) string { return strings.ReplaceAll(strings.ToLower(s), " ", "-") }

// arch returns the value of the label kubernetes.io/arch for the first architecture, empty if
// there is none. An architecture other than arm64, x86_64 and i386 is returned unchanged.
func arch(m Machine) string {
	switch {
	case len(m.Arch) == 0:
		return ""
	case m.arm():
		return apiv1.ArchitectureArm64
	case m.Arch[0] == "x86_64" || m.Arch[0] == "i386":
		return apiv1.ArchitectureAmd64
	}
	return m.Arch[0]
}
