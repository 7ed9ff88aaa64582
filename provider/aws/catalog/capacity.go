package catalog

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
)

const (
	mib = 1 << 20
	gib = 1 << 30
	// armReserveMiB is the memory that the firmware uses on Graviton.
	armReserveMiB = 64
	// plainPods is the pod limit of families whose number of pods does not depend on network interfaces.
	plainPods = 110
)

// Capacity returns the capacity that a node of shape s on m is expected to report.
func Capacity(m Machine, s Shape) model.Resources {
	r := model.Resources{
		corev1.ResourceCPU:              m.VCPU * 1000,
		corev1.ResourceMemory:           memory(m, s.MemoryOverhead),
		corev1.ResourcePods:             pods(m, s),
		corev1.ResourceEphemeralStorage: ephemeral(m, s),
	}
	add := func(name corev1.ResourceName, n int64) {
		if n > 0 {
			r[name] = n
		}
	}
	add(awsv1.ResourceNVIDIAGPU, gpus(m, "NVIDIA"))
	add(awsv1.ResourceAMDGPU, gpus(m, "AMD"))
	add(awsv1.ResourceHabanaGaudi, gpus(m, "Habana"))
	for i, d := range m.Neuron {
		r[awsv1.ResourceAWSNeuron] += d.Count
		if i == 0 {
			add(awsv1.ResourceAWSNeuronCore, d.Count*d.CoresPerDevice)
		}
	}
	add(awsv1.ResourcePodENI, m.BranchENIs)
	efas := m.EFAs
	if len(s.Interfaces) > 0 {
		efas = s.efaOnly(-1)
	}
	add(awsv1.ResourceEFA, efas)
	if s.Family.Windows() {
		add(awsv1.ResourcePrivateIPv4, m.IPsPerENI-1)
	}
	return r
}

// memory returns the memory of a node on m in bytes. On arm64, the memory of the firmware is
// subtracted first. overhead is the share of the rest that the hypervisor uses. The amount is
// rounded up to a whole MiB, as measured on real nodes.
func memory(m Machine, overhead float64) int64 {
	have := m.MemoryMiB
	if m.arm() {
		have -= armReserveMiB
	}
	kept := int64(math.Ceil(float64(have*mib) * overhead / mib))
	return max(have-kept, 0) * mib
}

// eniPods returns how many pods can run if each uses an address of a network interface on the
// default network card. reservedENIs interfaces and the EFA-only interfaces have no addresses for
// pods. Each other interface uses one address for itself. Two is added for pods with hostNetwork.
// If no interface is usable, or the default network card is not known, the result is 0.
func eniPods(m Machine, s Shape, reservedENIs int64) int64 {
	if m.DefaultCard >= len(m.Cards) {
		return 0
	}
	usable := m.Cards[m.DefaultCard] - reservedENIs - s.efaOnly(0)
	if usable <= 0 {
		return 0
	}
	return usable*(m.IPsPerENI-1) + 2
}

func pods(m Machine, s Shape) int64 {
	n := int64(plainPods)
	switch {
	case s.Kubelet.MaxPods != nil:
		n = int64(*s.Kubelet.MaxPods)
	case s.Family.ENIPods:
		n = eniPods(m, s, s.ReservedENIs)
	}
	if per := s.Kubelet.PodsPerCore; per != nil && *per > 0 && s.Family.PodsPerCore {
		n = min(n, int64(*per)*m.VCPU)
	}
	return n
}

// ephemeral returns the size in bytes of the disk with the ephemeral storage of pods.
func ephemeral(m Machine, s Shape) int64 {
	if s.RAID0 && m.StorageGB > 0 {
		return m.StorageGB * 1e9
	}
	size := func(b *awsv1.BlockDeviceMapping) *resource.Quantity {
		if b == nil || b.EBS == nil {
			return nil
		}
		return b.EBS.VolumeSize
	}
	for _, b := range s.Disks {
		if q := size(b); b != nil && b.RootVolume && q != nil {
			return q.Value()
		}
	}
	if s.Family.Name == awsv1.AMIFamilyCustom {
		if n := len(s.Disks); n > 0 && size(s.Disks[n-1]) != nil {
			return size(s.Disks[n-1]).Value()
		}
		return 20 * gib
	}
	for _, b := range s.Disks {
		if q := size(b); q != nil && value(b.DeviceName) == s.Family.EphemeralDevice {
			return q.Value()
		}
	}
	for _, d := range s.Family.Disks {
		if d.Device == s.Family.EphemeralDevice {
			return d.Size.Value()
		}
	}
	return 20 * gib
}

func gpus(m Machine, manufacturer string) (n int64) {
	for _, g := range m.GPUs {
		if g.Manufacturer == manufacturer {
			n += g.Count
		}
	}
	return n
}

// Reserved returns the kubeReserved resources of kubelet on m. An amount configured in the node class replaces the
// default for that resource.
func Reserved(m Machine, s Shape) model.Resources {
	p := pods(m, s)
	if s.Family.ENIMemory {
		p = eniPods(m, s, 0)
	}
	r := model.Resources{
		corev1.ResourceCPU:              reservedCPU(m.VCPU * 1000),
		corev1.ResourceMemory:           (11*p + 255) * mib,
		corev1.ResourceEphemeralStorage: gib,
	}
	return override(r, s.Kubelet.KubeReserved)
}

// reservedCPU returns the reserved cpu in millicores: 6% of the first core, 1% of the second, 0.5% of the next two,
// 0.25% of the others.
func reservedCPU(millis int64) (kept int64) {
	for _, slice := range []struct {
		from, to int64
		part     float64
	}{
		{0, 1000, 0.06}, {1000, 2000, 0.01}, {2000, 4000, 0.005}, {4000, math.MaxInt64, 0.0025},
	} {
		if millis > slice.from {
			kept += int64(float64(min(millis, slice.to)-slice.from) * slice.part)
		}
	}
	return kept
}

// override returns a copy of r in which the amounts in given replace those of r or are added. Amounts that cannot be
// parsed are ignored.
func override(r model.Resources, given map[string]string) model.Resources {
	list := corev1.ResourceList{}
	for k, v := range given {
		if q, err := resource.ParseQuantity(v); err == nil {
			list[corev1.ResourceName(k)] = q
		}
	}
	out := r.Plus(nil)
	for k, v := range model.RequestsOf(list) {
		out[k] = v
	}
	return out
}

// Overhead returns the part of the capacity that pods cannot use: kubeReserved, systemReserved and
// the eviction threshold. It has only resources that capacity has.
func Overhead(m Machine, s Shape, capacity model.Resources) model.Resources {
	system := override(model.Resources{}, s.Kubelet.SystemReserved)
	sum := Reserved(m, s).Plus(system).Plus(eviction(s, capacity))
	for name := range sum {
		if _, ok := capacity[name]; !ok {
			delete(sum, name) // the capacity has no such resource; for example, kubelet can reserve pid
		}
	}
	return sum
}

// eviction returns the hard eviction thresholds of memory and ephemeral storage: those of the node class, else
// kubelet's defaults. As in kubelet, soft thresholds are not subtracted from allocatable.
func eviction(s Shape, capacity model.Resources) model.Resources {
	storage := capacity[corev1.ResourceEphemeralStorage]
	r := model.Resources{
		corev1.ResourceMemory:           100 * mib,
		corev1.ResourceEphemeralStorage: (storage + 9) / 10,
	}
	for signal, name := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory,
		"nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		given, ok := s.Kubelet.EvictionHard[signal]
		if !ok {
			continue
		}
		if v, err := kubelet.Threshold(given, capacity[name]); err == nil {
			r[name] = v
		}
	}
	return r
}
