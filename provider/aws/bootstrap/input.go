package bootstrap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
)

// A Cluster has the facts about a cluster that a node needs to join it.
type Cluster struct {
	Name     string
	Endpoint string
	// CABundle is base64 of PEM.
	CABundle string
	// CIDR is the address range of services. AL2023 needs it.
	CIDR string
	// DNS is the address of the cluster's DNS service, empty if unknown.
	DNS string
}

// IPv6 reports whether pods and services have IPv6 addresses. It is derived from the address of the DNS service, or
// from CIDR if that address is not known.
func (c Cluster) IPv6() bool { return strings.Contains(cmp.Or(c.DNS, c.CIDR), ":") }

// An Input has all values on which user data depend.
type Input struct {
	Family  string
	Cluster Cluster
	Kubelet kubelet.Config
	MaxPods int64
	Labels  map[string]string
	Taints  []corev1.Taint
	// RAID0 is true if the local disks are joined to one volume for the ephemeral storage of pods.
	RAID0 bool
	// Custom is the user data of the node class.
	Custom string
	// ImageVersion is the version of the image, empty if it is not known. Bottlerocket needs it.
	ImageVersion string
}

// UserData returns the user data as text, before base64 encoding.
func UserData(in Input) (string, error) {
	switch in.Family {
	case awsv1.AMIFamilyAL2023:
		return al2023(in)
	case awsv1.AMIFamilyAL2:
		return al2(in)
	case awsv1.AMIFamilyBottlerocket:
		return bottlerocket(in)
	case awsv1.AMIFamilyCustom:
		return in.Custom, nil
	case awsv1.AMIFamilyWindows2019, awsv1.AMIFamilyWindows2022, awsv1.AMIFamilyWindows2025:
		return windows(in), nil
	}
	return "", fmt.Errorf("write user data: unknown image family %q", in.Family)
}

// ClaimLabels returns the labels with which the claim's node registers: the labels of the claim,
// without those that depend on the instance, the name of the node class, and the capacity type. Labels in reserved domains of
// Kubernetes are omitted, because the API server rejects nodes that set them on themselves. The
// label do-not-sync-taints is added unless the image is custom. A node with a custom image may join
// without the claim's taints, and then registration must add them.
func ClaimLabels(claim *apiv1.NodeClaim, capacityType, family string) map[string]string {
	labels := maps.Clone(claim.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.DeleteFunc(labels, func(key, _ string) bool { return ofInstance.Has(key) && key != apiv1.NodePoolLabelKey })
	if ref := claim.Spec.NodeClassRef; ref != nil { // the claim may have the label only after its first launch
		labels[awsv1.LabelNodeClass] = ref.Name
	}
	labels[apiv1.CapacityTypeLabelKey] = capacityType
	if family != awsv1.AMIFamilyCustom {
		labels[apiv1.NodeDoNotSyncTaintsLabelKey] = "true"
	}
	maps.DeleteFunc(labels, func(key, _ string) bool { return restricted(key) })
	return labels
}

// ofInstance has the well-known labels of Karpenter and of this provider. ClaimLabels takes only the NodePool's name of them
// from the claim, because most of the others depend on the instance. A repeated launch must have exactly the same user data,
// and the claim may by then have the labels of an earlier instance.
var ofInstance = apiv1.CoreLabels().With(awsv1.Labels()).WellKnown

func restricted(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	return slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// ClaimTaints returns the taints with which the node registers: the claim's taints and start-up taints, and the
// unregistered taint, which excludes pods until the node is registered.
func ClaimTaints(claim *apiv1.NodeClaim) []corev1.Taint {
	taints := slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints)
	unregistered := corev1.Taint{Key: apiv1.UnregisteredTaintKey, Effect: corev1.TaintEffectNoExecute}
	if !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&unregistered) }) {
		taints = append(taints, unregistered)
	}
	return taints
}

// clusterDNS returns the DNS servers for kubelet's configuration: those of the
// node class, else that of the cluster. It returns nil if neither is known.
func (in Input) clusterDNS() []string {
	if len(in.Kubelet.ClusterDNS) > 0 {
		return in.Kubelet.ClusterDNS
	}
	if in.Cluster.DNS != "" {
		return []string{in.Cluster.DNS}
	}
	return nil
}

// pairs joins the entries of m as k<sep>v, separated by commas, in key order.
func pairs(m map[string]string, sep string) string {
	words := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, k+sep+m[k])
	}
	return strings.Join(words, ",")
}

// nodeLabels returns kubelet's flag --node-labels, quoted.
func (in Input) nodeLabels() string { return `--node-labels="` + pairs(in.Labels, "=") + `"` }

// kubeletFlags returns the settings as command-line flags of kubelet.
func (in Input) kubeletFlags() string {
	var flags []string
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	number := func(name string, n *int32) {
		if n != nil {
			add(name, fmt.Sprint(*n))
		}
	}
	quoted := func(name, value string) {
		if value != "" {
			add(name, `"`+value+`"`)
		}
	}
	if len(in.Labels) > 0 {
		flags = append(flags, in.nodeLabels())
	}
	var taints []string
	for _, t := range in.Taints {
		taints = append(taints, t.ToString())
	}
	quoted("register-with-taints", strings.Join(taints, ","))
	add("max-pods", fmt.Sprint(in.MaxPods))
	k := in.Kubelet
	number("pods-per-core", k.PodsPerCore)
	add("system-reserved", pairs(k.SystemReserved, "="))
	add("kube-reserved", pairs(k.KubeReserved, "="))
	quoted("eviction-hard", pairs(k.EvictionHard, "<"))
	quoted("eviction-soft", pairs(k.EvictionSoft, "<"))
	add("eviction-soft-grace-period", pairs(k.EvictionSoftGracePeriod, "="))
	number("eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod)
	number("image-gc-high-threshold", k.ImageGCHighThresholdPercent)
	number("image-gc-low-threshold", k.ImageGCLowThresholdPercent)
	if k.CPUCFSQuota != nil {
		add("cpu-cfs-quota", fmt.Sprint(*k.CPUCFSQuota))
	}
	return strings.Join(flags, " ")
}
