package machine

import (
	"fmt"
	"maps"
	"strings"

	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
)

// bottlerocketSettings is the part of Bottlerocket's settings that affects a Node.
type bottlerocketSettings struct {
	Settings struct {
		Kubernetes struct {
			Cluster        string              `toml:"cluster-name"`
			Endpoint       string              `toml:"api-server"`
			CA             string              `toml:"cluster-certificate"`
			Labels         map[string]string   `toml:"node-labels"`
			Taints         map[string][]string `toml:"node-taints"`
			MaxPods        int                 `toml:"max-pods"`
			KubeReserved   map[string]string   `toml:"kube-reserved"`
			SystemReserved map[string]string   `toml:"system-reserved"`
			EvictionHard   map[string]string   `toml:"eviction-hard"`
		} `toml:"kubernetes"`
		BootstrapCommands map[string]struct {
			Commands  [][]string `toml:"commands"`
			Mode      string     `toml:"mode"`
			Essential bool       `toml:"essential"`
		} `toml:"bootstrap-commands"`
	} `toml:"settings"`
}

// decodeBottlerocket decodes settings in TOML.
func decodeBottlerocket(raw []byte) (Bootstrap, error) {
	var s bottlerocketSettings
	if err := toml.Unmarshal(raw, &s); err != nil {
		return Bootstrap{}, fmt.Errorf("early-boot-config: decode TOML: %w", err)
	}
	k := s.Settings.Kubernetes
	b := Bootstrap{
		Cluster: k.Cluster, Endpoint: k.Endpoint, CA: k.CA, Labels: map[string]string{},
		Kubelet: Kubelet{
			MaxPods: k.MaxPods, KubeReserved: k.KubeReserved, SystemReserved: k.SystemReserved, EvictionHard: k.EvictionHard,
		},
	}
	maps.Copy(b.Labels, k.Labels)
	for key, values := range k.Taints {
		for _, one := range values {
			value, effect, ok := strings.Cut(one, ":")
			if !ok {
				return b, fmt.Errorf("early-boot-config: taint %s=%q has no effect", key, one)
			}
			b.Taints = append(b.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	}
	for _, command := range s.Settings.BootstrapCommands {
		for _, args := range command.Commands {
			if len(args) >= 3 && args[1] == "ephemeral-storage" && args[2] == "bind" {
				b.RAID0 = true
			}
		}
	}
	return b, checkTaints(b.Taints)
}
