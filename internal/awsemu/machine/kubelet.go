package machine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The memory that the hypervisor and the kernel use: a fixed part and a share of the total. Together they are close to real
// nodes, and less than the 7.5% that planners assume.
const (
	hiddenMiB     = 8
	hiddenShare   = 0.05
	arm64Firmware = 64 // MiB more on arm64
)

// fileSystemShare is the share of a volume that its file system leaves for files.
const fileSystemShare = 0.9963

// flag applies one kubelet flag that affects the Node. It ignores other flags.
func (k *Kubelet) flag(name, value string) error {
	var err error
	switch name {
	case "--max-pods":
		k.MaxPods, err = strconv.Atoi(value)
	case "--pods-per-core":
		k.PodsPerCore, err = strconv.Atoi(value)
	case "--kube-reserved":
		k.KubeReserved, err = parsePairs(value, "=")
	case "--system-reserved":
		k.SystemReserved, err = parsePairs(value, "=")
	case "--eviction-hard":
		k.EvictionHard, err = parsePairs(value, "<")
	}
	if err != nil {
		return fmt.Errorf("kubelet: invalid argument %q for %q: %w", value, name, err)
	}
	return nil
}

// parsePairs parses pairs such as "cpu=100m,memory=1Gi" or "memory.available<5%".
func parsePairs(text, separator string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		k, v, ok := strings.Cut(strings.TrimSpace(pair), separator)
		if !ok {
			return nil, fmt.Errorf("%q is no pair", pair)
		}
		out[k] = v
	}
	return out, nil
}

// withDefaults returns k with the image's defaults for the values that user data does not set.
func (k Kubelet) withDefaults(m Machine) Kubelet {
	eniPods := eniPods(m)
	if k.MaxPods == 0 {
		k.MaxPods = eniPods
		if m.Family == "Windows" {
			k.MaxPods = 110
		}
	}
	if k.PodsPerCore > 0 {
		k.MaxPods = min(k.MaxPods, k.PodsPerCore*m.Type.VCPU)
	}
	density := eniPods
	if m.Family == "Bottlerocket" || m.Family == "Windows" {
		density = k.MaxPods
	}
	k.KubeReserved = overlayText(map[string]string{
		"cpu":               fmt.Sprintf("%dm", reservedMillis(m.Type.VCPU)),
		"memory":            fmt.Sprintf("%dMi", 255+11*density),
		"ephemeral-storage": "1Gi",
	}, k.KubeReserved)
	k.EvictionHard = overlayText(map[string]string{
		"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%",
	}, k.EvictionHard)
	return k
}

// eniPods returns the number of pods for which the addresses of the default network card are sufficient, 110 if the
// type has no such card.
func eniPods(m Machine) int {
	if m.Type.DefaultCard >= len(m.Type.Cards) {
		return 110
	}
	return m.Type.Cards[m.Type.DefaultCard]*(m.Type.IPsPerENI-1) + 2
}

// reservedMillis returns the CPU in millicores that EKS images reserve: 6% of the first core, 1% of the second, 0.5% of each of
// the next two and 0.25% of each further one.
func reservedMillis(vcpus int) int {
	reserved := 0.0
	for core := range vcpus {
		switch {
		case core == 0:
			reserved += 60
		case core == 1:
			reserved += 10
		case core < 4:
			reserved += 5
		default:
			reserved += 2.5
		}
	}
	return int(reserved)
}

// capacity returns the capacity that the kubelet detects on the machine.
func capacity(m Machine, k Kubelet, raid0 bool) corev1.ResourceList {
	hidden := hiddenMiB + hiddenShare*float64(m.Type.MemoryMiB)
	if m.Arch == "arm64" {
		hidden += arm64Firmware
	}
	memoryKi := int64(math.Floor((float64(m.Type.MemoryMiB) - hidden) * 1024))
	diskKi := int64(float64(m.RootGiB) * fileSystemShare * 1024 * 1024)
	if raid0 && m.Type.NVMeGB > 0 {
		diskKi = int64(float64(m.Type.NVMeGB) * 1e9 / 1024 * fileSystemShare)
	}
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(m.Type.VCPU), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memoryKi*1024, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(diskKi*1024, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(int64(k.MaxPods), resource.DecimalSI),
	}
	if m.Family != "Windows" {
		list["hugepages-2Mi"] = *resource.NewQuantity(0, resource.BinarySI)
		list["hugepages-1Gi"] = *resource.NewQuantity(0, resource.BinarySI)
	}
	return list
}

// allocatable returns the part of a capacity that is left for pods.
func allocatable(have corev1.ResourceList, k Kubelet) (corev1.ResourceList, error) {
	out := have.DeepCopy()
	subtract := func(name corev1.ResourceName, amount resource.Quantity) {
		q := out[name]
		q.Sub(amount)
		if q.Sign() < 0 {
			q = *resource.NewQuantity(0, q.Format)
		}
		out[name] = q
	}
	for _, reserved := range []map[string]string{k.KubeReserved, k.SystemReserved} {
		for name, text := range reserved {
			amount, err := resource.ParseQuantity(text)
			if err != nil {
				return nil, fmt.Errorf("kubelet: reserved %s is %q: %w", name, text, err)
			}
			if _, counted := have[corev1.ResourceName(name)]; counted {
				subtract(corev1.ResourceName(name), amount)
			}
		}
	}
	for signal, name := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		amount, err := threshold(k.EvictionHard[signal], have[name])
		if err != nil {
			return nil, fmt.Errorf("kubelet: evictionHard %s: %w", signal, err)
		}
		subtract(name, amount)
	}
	return out, nil
}

// threshold parses an eviction threshold: a quantity, or a percentage of a capacity. 100% means no threshold.
func threshold(text string, of resource.Quantity) (resource.Quantity, error) {
	if text == "" {
		return resource.Quantity{}, nil
	}
	share, isShare := strings.CutSuffix(text, "%")
	if !isShare {
		return resource.ParseQuantity(text)
	}
	percent, err := strconv.ParseFloat(share, 64)
	if err != nil || percent < 0 || percent > 100 {
		return resource.Quantity{}, fmt.Errorf("%q is no percentage", text)
	}
	if percent == 100 {
		return resource.Quantity{}, nil
	}
	return *resource.NewQuantity(int64(float64(of.Value())*percent/100), of.Format), nil
}

// checkLabels returns an error for labels that a kubelet may not set on its own Node. A kubelet with such labels does not start.
func checkLabels(labels map[string]string) error {
	for key := range labels {
		domain, _, ok := strings.Cut(key, "/")
		if !ok || allowedLabels[key] {
			continue
		}
		if domain == "node-restriction.kubernetes.io" || strings.HasSuffix(domain, ".node-restriction.kubernetes.io") {
			return fmt.Errorf("kubelet: failed to register: is not allowed to set label %s", key)
		}
		reserved := within(domain, "kubernetes.io") || within(domain, "k8s.io")
		if reserved && !within(domain, "kubelet.kubernetes.io") && !within(domain, "node.kubernetes.io") {
			return fmt.Errorf("kubelet: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [%s]", key)
		}
	}
	return nil
}

// within reports whether a domain is parent or a subdomain of it.
func within(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

// allowedLabels are the labels in domains of Kubernetes that kubelets may set.
var allowedLabels = map[string]bool{
	"kubernetes.io/hostname": true, "kubernetes.io/arch": true, "kubernetes.io/os": true,
	"beta.kubernetes.io/arch": true, "beta.kubernetes.io/os": true, "beta.kubernetes.io/instance-type": true,
	"node.kubernetes.io/instance-type": true, "topology.kubernetes.io/zone": true, "topology.kubernetes.io/region": true,
	"failure-domain.beta.kubernetes.io/zone": true, "failure-domain.beta.kubernetes.io/region": true,
	"failure-domain.kubernetes.io/zone": true, "failure-domain.kubernetes.io/region": true,
}
