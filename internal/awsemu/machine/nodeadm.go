package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A nodeConfig is the document that configures Amazon Linux 2023. Unknown fields are an error, as in nodeadm.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata,omitempty"`
	Spec       struct {
		Cluster struct {
			Name           string `json:"name,omitempty"`
			Endpoint       string `json:"apiServerEndpoint,omitempty"`
			CA             string `json:"certificateAuthority,omitempty"`
			CIDR           string `json:"cidr,omitempty"`
			ID             string `json:"id,omitempty"`
			EnableOutposts *bool  `json:"enableOutpost,omitempty"`
		} `json:"cluster"`
		Instance struct {
			LocalStorage struct {
				Strategy       string   `json:"strategy,omitempty"`
				MountPath      string   `json:"mountPath,omitempty"`
				DisabledMounts []string `json:"disabledMounts,omitempty"`
			} `json:"localStorage"`
			Environment map[string]any `json:"environment,omitempty"`
			Network     map[string]any `json:"network,omitempty"`
		} `json:"instance"`
		Kubelet struct {
			Config map[string]any `json:"config,omitempty"`
			Flags  []string       `json:"flags,omitempty"`
		} `json:"kubelet"`
		Containerd   map[string]any  `json:"containerd,omitempty"`
		FeatureGates map[string]bool `json:"featureGates,omitempty"`
	} `json:"spec"`
}

// decodeAL2023 merges all NodeConfigs of an archive in order. Later values take precedence, and flags are accumulated.
func decodeAL2023(raw []byte) (Bootstrap, error) {
	parts, err := archive(raw)
	if err != nil {
		return Bootstrap{}, err
	}
	b := Bootstrap{Labels: map[string]string{}, needsCIDR: true}
	config := map[string]any{}
	found := false
	for _, p := range parts {
		if p.kind != "application/node.eks.aws" && p.kind != "" {
			continue // nodeadm ignores scripts and cloud-config
		}
		var n nodeConfig
		if err := yaml.UnmarshalStrict(p.body, &n); err != nil {
			return b, fmt.Errorf("nodeadm: decode NodeConfig: %w", err)
		}
		if n.APIVersion != "node.eks.aws/v1alpha1" || n.Kind != "NodeConfig" {
			return b, fmt.Errorf("nodeadm: no kind %q is registered for version %q", n.Kind, n.APIVersion)
		}
		found = true
		if err := b.merge(n, config); err != nil {
			return b, err
		}
	}
	if !found {
		return b, errors.New("nodeadm: no NodeConfig in the user data")
	}
	return b, b.applyConfig(config)
}

// merge applies one NodeConfig to the values so far. It merges the kubelet's configuration into config.
func (b *Bootstrap) merge(n nodeConfig, config map[string]any) error {
	c := n.Spec.Cluster
	b.Cluster, b.Endpoint = later(b.Cluster, c.Name), later(b.Endpoint, c.Endpoint)
	b.CA, b.CIDR = later(b.CA, c.CA), later(b.CIDR, c.CIDR)
	switch n.Spec.Instance.LocalStorage.Strategy {
	case "":
	case "RAID0":
		b.RAID0 = true
	case "RAID10", "Mount":
	default:
		return fmt.Errorf("nodeadm: localStorage.strategy %q is unknown", n.Spec.Instance.LocalStorage.Strategy)
	}
	mergeInto(config, n.Spec.Kubelet.Config)
	for _, flag := range n.Spec.Kubelet.Flags {
		if err := b.flag(flag); err != nil {
			return err
		}
	}
	return nil
}

// later returns second, or first if second is empty.
func later(first, second string) string {
	if second != "" {
		return second
	}
	return first
}

// flag applies one kubelet flag of the form --name=value. It removes quotes around the value, as systemd does.
func (b *Bootstrap) flag(flag string) error {
	name, value, _ := strings.Cut(flag, "=")
	value = strings.Trim(value, `"'`)
	switch name {
	case "--node-labels":
		labels, err := parseLabels(value)
		if err != nil {
			return err
		}
		maps.Copy(b.Labels, labels)
	case "--register-with-taints":
		taints, err := parseTaints(value)
		if err != nil {
			return err
		}
		b.Taints = append(b.Taints, taints...)
	default:
		return b.Kubelet.flag(name, value)
	}
	return nil
}

// kubeletFields are the fields of a KubeletConfiguration that the emulator decodes. A wrong type is an error. clusterDNS has no
// other effect. The other fields here affect the Node. Fields that are not here are accepted and ignored.
type kubeletFields struct {
	MaxPods            int               `json:"maxPods"`
	PodsPerCore        int               `json:"podsPerCore"`
	KubeReserved       map[string]string `json:"kubeReserved"`
	SystemReserved     map[string]string `json:"systemReserved"`
	EvictionHard       map[string]string `json:"evictionHard"`
	RegisterWithTaints []corev1.Taint    `json:"registerWithTaints"`
	ClusterDNS         []string          `json:"clusterDNS"`
}

// applyConfig applies the merged kubelet configuration.
func (b *Bootstrap) applyConfig(config map[string]any) error {
	data, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("kubelet: encode configuration: %w", err)
	}
	var f kubeletFields
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("kubelet: failed to load kubelet config file: %w", err)
	}
	if f.MaxPods > 0 {
		b.Kubelet.MaxPods = f.MaxPods
	}
	if f.PodsPerCore > 0 {
		b.Kubelet.PodsPerCore = f.PodsPerCore
	}
	b.Kubelet.KubeReserved = overlayText(b.Kubelet.KubeReserved, f.KubeReserved)
	b.Kubelet.SystemReserved = overlayText(b.Kubelet.SystemReserved, f.SystemReserved)
	b.Kubelet.EvictionHard = overlayText(b.Kubelet.EvictionHard, f.EvictionHard)
	b.Taints = append(b.Taints, f.RegisterWithTaints...)
	return checkTaints(b.Taints)
}

// overlayText returns a new map with the entries of both. Those of over take precedence.
func overlayText(base, over map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// mergeInto applies a document to base: maps are merged, and all other values are replaced.
func mergeInto(base, over map[string]any) {
	for k, v := range over {
		below, ok := base[k].(map[string]any)
		above, also := v.(map[string]any)
		if ok && also {
			mergeInto(below, above)
			continue
		}
		base[k] = v
	}
}
