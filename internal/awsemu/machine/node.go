package machine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Taints and annotations of a Node that other components read.
const (
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
	kwokNode      = "kwok.x-k8s.io/node"
)

// join returns the Node that a machine's kubelet registers, or the reason why no kubelet starts.
func (s *step) join(m Machine) (*corev1.Node, error) {
	b, err := Decode(m.Family, m.UserData)
	if err != nil {
		return nil, err
	}
	if err := b.check(s.cfg.Cluster); err != nil {
		return nil, err
	}
	if err := checkLabels(b.Labels); err != nil {
		return nil, err
	}
	if s.cfg.Cluster.ipv6() && m.IPv6 == "" {
		return nil, errors.New("kubelet: cannot join: the cluster is one of IPv6, and no interface has an IPv6 address")
	}
	return s.node(m, b)
}

// nodeIP returns the address of the node in the cluster: the IPv6 address if there is one, as in bootstrap scripts.
func (m Machine) nodeIP() string {
	if m.IPv6 != "" {
		return m.IPv6
	}
	return m.Address
}

// ipv6 reports whether services of the cluster have IPv6 addresses.
func (c Cluster) ipv6() bool { return strings.Contains(c.ServiceCIDR, ":") }

// node returns the Node of a machine as its kubelet first registers it.
func (s *step) node(m Machine, b Bootstrap) (*corev1.Node, error) {
	kubelet := b.Kubelet.withDefaults(m)
	have := capacity(m, kubelet, b.RAID0)
	free, err := allocatable(have, kubelet)
	if err != nil {
		return nil, err
	}
	arch, system := "amd64", "linux"
	if m.Arch == "arm64" {
		arch = "arm64"
	}
	if m.Family == "Windows" {
		system = "windows"
	}
	labels := map[string]string{
		"kubernetes.io/hostname": m.Node, "kubernetes.io/arch": arch, "kubernetes.io/os": system,
		"beta.kubernetes.io/arch": arch, "beta.kubernetes.io/os": system,
	}
	maps.Copy(labels, b.Labels)
	taints := slices.Concat(b.Taints, []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}})
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Node, Labels: labels,
			Annotations: map[string]string{
				kwokNode:                               "fake",
				"alpha.kubernetes.io/provided-node-ip": m.nodeIP(),
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
			},
		},
		Spec: corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Capacity: have, Allocatable: free,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: m.nodeIP()},
				{Type: corev1.NodeInternalDNS, Address: m.Node},
				{Type: corev1.NodeHostName, Address: m.Node},
			},
			Conditions: s.firstConditions(),
			NodeInfo:   nodeInfo(m, s.cfg.Cluster.Version, arch, system),
		},
	}, nil
}

// firstConditions returns the conditions of a Node whose network is not ready. kwok makes the Node ready later.
func (s *step) firstConditions() []corev1.NodeCondition {
	now := metav1.NewTime(s.now)
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady",
			"container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"),
	}
}

// bootID returns the ID of the current boot of a machine, which is another after each reboot.
func bootID(m Machine) string {
	if m.Reboots == 0 {
		return systemUUID("boot/" + m.ID)
	}
	return systemUUID(fmt.Sprintf("boot/%s/%d", m.ID, m.Reboots))
}

// nodeInfo describes the operating system. The system UUID distinguishes the machine from later machines with the same name.
func nodeInfo(m Machine, version, arch, system string) corev1.NodeSystemInfo {
	if m.Kubernetes != "" {
		version = m.Kubernetes
	}
	info := corev1.NodeSystemInfo{
		MachineID: strings.ReplaceAll(systemUUID(m.ID), "-", ""), SystemUUID: systemUUID(m.ID), BootID: bootID(m),
		KernelVersion: "6.12.46-66.121.amzn2023.x86_64", OSImage: "Amazon Linux 2023.9.20251027",
		ContainerRuntimeVersion: "containerd://2.1.4", KubeletVersion: "v" + version + ".3",
		OperatingSystem: system, Architecture: arch,
	}
	switch m.Family {
	case "AL2":
		info.KernelVersion, info.OSImage = "5.10.245-241.976.amzn2.x86_64", "Amazon Linux 2"
	case "Bottlerocket":
		info.KernelVersion, info.OSImage = "6.12.46", fmt.Sprintf("Bottlerocket OS 1.52.0 (aws-k8s-%s)", version)
	case "Windows":
		info.KernelVersion, info.OSImage = "10.0.20348.4294", "Windows Server 2022 Datacenter"
	}
	if arch == "arm64" {
		info.KernelVersion = strings.ReplaceAll(info.KernelVersion, "x86_64", "aarch64")
	}
	return info
}

// systemUUID derives a machine's UUID from its instance id.
func systemUUID(id string) string {
	h := fnv.New128a()
	h.Write([]byte(id))
	sum := h.Sum(nil)
	return fmt.Sprintf("ec2%x-%x-4%x-8%x-%x", sum[:3], sum[3:5], sum[5:7], sum[7:9], sum[9:15])[:36]
}

// register creates a Node. If the same machine has registered it before, because a response was lost, that is no error. The Node
// of an earlier machine is deleted, and an error is returned, so that the step is repeated.
func (s *step) register(ctx context.Context, node *corev1.Node) error {
	nodes := s.cfg.Client.CoreV1().Nodes()
	_, err := nodes.Create(ctx, node, metav1.CreateOptions{})
	if err == nil || !apierrors.IsAlreadyExists(err) {
		return wrap("create node", node.Name, err)
	}
	old, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return wrap("get node", node.Name, err)
	}
	if old.Status.NodeInfo.SystemUUID == node.Status.NodeInfo.SystemUUID {
		if old.Status.NodeInfo.BootID == node.Status.NodeInfo.BootID {
			return nil
		}
		old.Status.NodeInfo = node.Status.NodeInfo
		_, err := nodes.UpdateStatus(ctx, old, metav1.UpdateOptions{})
		return wrap("update status of node", node.Name, err)
	}
	if err := nodes.Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return wrap("delete node of an earlier machine", node.Name, err)
	}
	return fmt.Errorf("create node %s: the node of an earlier machine has to go first", node.Name)
}

// equip adds the devices that device plugins report to the kubelet.
func (s *step) equip(ctx context.Context, m Machine) error {
	devices := devices(m)
	if len(devices) == 0 {
		return nil
	}
	node, err := s.cfg.Client.CoreV1().Nodes().Get(ctx, m.Node, metav1.GetOptions{})
	if err != nil {
		return ignoreGone(wrap("get node", m.Node, err))
	}
	for name, count := range devices {
		quantity := *resource.NewQuantity(int64(count), resource.DecimalSI)
		node.Status.Capacity[name], node.Status.Allocatable[name] = quantity, quantity
	}
	_, err = s.cfg.Client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return ignoreGone(wrap("update status of node", m.Node, err))
}

// devices returns the devices that device plugins find on a machine. NVIDIA GPUs and Neuron chips are found only with
// an image that has their drivers. EFAs are found only if the launch requested them, not if the type merely supports
// them.
func devices(m Machine) map[corev1.ResourceName]int {
	out := map[corev1.ResourceName]int{}
	if m.EFAs > 0 {
		out["vpc.amazonaws.com/efa"] = m.EFAs
	}
	for _, gpu := range m.Type.GPUs {
		switch {
		case gpu.Manufacturer == "NVIDIA" && m.Variant == "nvidia":
			out["nvidia.com/gpu"] += gpu.Count
		case gpu.Manufacturer == "AMD":
			out["amd.com/gpu"] += gpu.Count
		case gpu.Manufacturer == "Habana":
			out["habana.ai/gaudi"] += gpu.Count
		}
	}
	for _, chip := range m.Type.Neuron {
		// The accelerated images of Bottlerocket and AL2 have the driver, too.
		if m.Variant == "neuron" || m.Family == "Bottlerocket" || m.Family == "AL2" {
			out["aws.amazon.com/neuron"] += chip.Count
			out["aws.amazon.com/neuroncore"] += chip.Count * chip.CoresPerDevice
		}
	}
	return out
}

// stop stops a kubelet: the Node becomes not ready, and kwok does not manage it any more.
func (s *step) stop(ctx context.Context, name string) error {
	nodes := s.cfg.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ignoreGone(wrap("get node", name, err))
	}
	delete(node.Annotations, kwokNode)
	if node, err = nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return ignoreGone(wrap("update node", name, err))
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, "KubeletNotReady", "node is shutting down"
			c.LastTransitionTime = metav1.NewTime(s.now)
		}
	}
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return ignoreGone(wrap("update status of node", name, err))
}

// wrap adds to the error what failed; it returns nil for nil.
func wrap(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, name, err)
}

// ignoreGone returns nil for the error "not found", which means that the Node was deleted in the meantime.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
