package amis

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// A variant is the kind of accelerator for which an image is made. standard images are for nodes without accelerators.
type variant string

const (
	standard variant = "standard"
	nvidia   variant = "nvidia"
	neuron   variant = "neuron"
)

func (v variant) requirements() []corev1.NodeSelectorRequirement {
	req := func(key string, op corev1.NodeSelectorOperator) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: op}
	}
	switch v {
	case nvidia:
		return []corev1.NodeSelectorRequirement{req(awsv1.LabelInstanceGPUCount, corev1.NodeSelectorOpExists)}
	case neuron:
		return []corev1.NodeSelectorRequirement{req(awsv1.LabelInstanceAcceleratorCount, corev1.NodeSelectorOpExists)}
	}
	return []corev1.NodeSelectorRequirement{
		req(awsv1.LabelInstanceAcceleratorCount, corev1.NodeSelectorOpDoesNotExist),
		req(awsv1.LabelInstanceGPUCount, corev1.NodeSelectorOpDoesNotExist),
	}
}

// A parameter names an SSM parameter whose value is the ID of an image. The image is made for nodes of variants. If variants
// is nil, the image is made for Windows.
type parameter struct {
	path     string
	variants []variant
}

// parameters returns the SSM parameters with the images of an alias, for clusters of Kubernetes version k ("1.36").
func parameters(family, version, k string) []parameter {
	latest := version == awsv1.AliasVersionLatest
	pick := func(name string) string {
		if latest {
			return "recommended"
		}
		return fmt.Sprintf("%s-%s-%s", name, k, version)
	}
	eks := "/aws/service/eks/optimized-ami/" + k
	switch family {
	case awsv1.AMIFamilyAL2:
		return []parameter{
			{eks + "/amazon-linux-2/" + pick("amazon-eks-node") + "/image_id", []variant{standard}},
			{eks + "/amazon-linux-2-arm64/" + pick("amazon-eks-arm64-node") + "/image_id", []variant{standard}},
			{eks + "/amazon-linux-2-gpu/" + pick("amazon-eks-gpu-node") + "/image_id", []variant{neuron, nvidia}},
		}
	case awsv1.AMIFamilyAL2023:
		var out []parameter
		for _, arch := range []string{"x86_64", "arm64"} {
			for _, v := range []variant{standard, nvidia, neuron} {
				if v == neuron && arch == "arm64" {
					continue
				}
				name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s", arch, v)
				path := fmt.Sprintf("%s/amazon-linux-2023/%s/%s/%s/image_id", eks, arch, v, pick(name))
				out = append(out, parameter{path, []variant{v}})
			}
		}
		return out
	case awsv1.AMIFamilyBottlerocket:
		return bottlerocket(strings.TrimPrefix(version, "v"), k)
	}
	year, _ := strings.CutPrefix(family, "Windows")
	return []parameter{{
		fmt.Sprintf("/aws/service/ami-windows-latest/Windows_Server-%s-English-Core-EKS_Optimized-%s/image_id", year, k), nil,
	}}
}

func bottlerocket(version, k string) []parameter {
	path := func(flavour, arch string) string {
		return fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/%s/image_id", k, flavour, arch, version)
	}
	return []parameter{
		{path("", "x86_64"), []variant{standard, neuron}},
		{path("", "arm64"), []variant{standard}},
		{path("-nvidia", "x86_64"), []variant{nvidia}},
		{path("-nvidia", "arm64"), []variant{nvidia}},
	}
}

// Unsupported returns the reason why an alias of the family cannot be resolved for Kubernetes 1.minor, empty if there
// is none.
func Unsupported(family string, minor int) string {
	switch {
	case family == awsv1.AMIFamilyAL2 && minor >= 33:
		return fmt.Sprintf("AL2 images are not published for Kubernetes 1.%d, use al2023", minor)
	case family == awsv1.AMIFamilyWindows2025 && minor < 35:
		return fmt.Sprintf("Windows Server 2025 images are published from Kubernetes 1.35 on, the cluster is at 1.%d", minor)
	}
	return ""
}
