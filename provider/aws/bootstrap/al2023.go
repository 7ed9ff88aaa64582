package bootstrap

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

const nodeConfigVersion = "node.eks.aws/v1alpha1"

// ErrNoCIDR means that the address range of services is not known. Nodes with AL2023 cannot join without it.
var ErrNoCIDR = errors.New("the cluster's service CIDR is not known")

// nodeConfig is the NodeConfig document that nodeadm reads, with the fields that this package sets.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       nodeConfigSpec `json:"spec"`
}

type nodeConfigSpec struct {
	Cluster  nodeConfigCluster   `json:"cluster"`
	Instance *nodeConfigInstance `json:"instance,omitempty"`
	Kubelet  nodeConfigKubelet   `json:"kubelet"`
}

type nodeConfigCluster struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority string `json:"certificateAuthority"`
	CIDR                 string `json:"cidr"`
}

type nodeConfigInstance struct {
	LocalStorage nodeConfigStorage `json:"localStorage"`
}

type nodeConfigStorage struct {
	Strategy awsv1.InstanceStorePolicy `json:"strategy"`
}

type nodeConfigKubelet struct {
	Config map[string]any `json:"config,omitempty"`
	Flags  []string       `json:"flags,omitempty"`
}

// al2023 returns a MIME archive: first the parts of the class's own user data, then a NodeConfig of Karpenter. nodeadm
// merges NodeConfigs, and the last one takes precedence.
func al2023(in Input) (string, error) {
	if in.Cluster.CIDR == "" {
		return "", ErrNoCIDR
	}
	parts, err := al2023Custom(in.Custom)
	if err != nil {
		return "", err
	}
	config, err := in.nodeConfig()
	if err != nil {
		return "", err
	}
	return archive(append(parts, part{typeConfig, "# Written by Karpenter.\n" + config})), nil
}

// al2023Custom parses the class's own user data: a MIME archive, a NodeConfig, or a script.
func al2023Custom(text string) ([]part, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, nil
	case isArchive(strings.TrimSpace(text)):
		return split(text)
	}
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(text), &doc); err == nil && doc["kind"] == "NodeConfig" {
		return []part{{typeConfig, text}}, nil
	}
	return []part{{typeShell, text}}, nil
}

func (in Input) nodeConfig() (string, error) {
	config := maps.Clone(in.Kubelet.Raw)
	if config == nil {
		config = map[string]any{}
	}
	config["maxPods"] = in.MaxPods
	if dns := in.clusterDNS(); len(dns) > 0 {
		config["clusterDNS"] = dns
	}
	for field, given := range map[string]map[string]string{
		"kubeReserved": in.Kubelet.KubeReserved, "systemReserved": in.Kubelet.SystemReserved,
	} {
		delete(config, field)
		if len(given) > 0 {
			config[field] = given
		}
	}
	if len(in.Taints) > 0 {
		config["registerWithTaints"] = plainTaints(in.Taints)
	}
	doc := nodeConfig{
		APIVersion: nodeConfigVersion, Kind: "NodeConfig",
		Spec: nodeConfigSpec{
			Cluster: nodeConfigCluster{
				Name: in.Cluster.Name, APIServerEndpoint: in.Cluster.Endpoint,
				CertificateAuthority: in.Cluster.CABundle, CIDR: in.Cluster.CIDR,
			},
			Kubelet: nodeConfigKubelet{Config: config},
		},
	}
	if len(in.Labels) > 0 {
		doc.Spec.Kubelet.Flags = []string{in.nodeLabels()}
	}
	if in.RAID0 {
		doc.Spec.Instance = &nodeConfigInstance{nodeConfigStorage{awsv1.InstanceStorePolicyRAID0}}
	}
	out, err := yaml.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("write NodeConfig: %w", err)
	}
	return string(out), nil
}

// plainTaints converts taints without timeAdded, which kubelet's configuration does not accept.
func plainTaints(taints []corev1.Taint) []map[string]any {
	out := make([]map[string]any, len(taints))
	for i, t := range taints {
		out[i] = map[string]any{"key": t.Key, "effect": string(t.Effect)}
		if t.Value != "" {
			out[i]["value"] = t.Value
		}
	}
	return out
}
