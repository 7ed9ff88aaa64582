package bootstrap

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// bottlerocket returns the class's own TOML with Karpenter's values in settings.kubernetes. If
// local disks are used, it also sets a command in settings.bootstrap-commands. All other settings
// are unchanged.
func bottlerocket(in Input) (string, error) {
	doc := map[string]any{}
	if err := toml.Unmarshal([]byte(in.Custom), &doc); err != nil {
		return "", fmt.Errorf("read userData as TOML: %w", err)
	}
	settings, err := table(doc, "settings")
	if err != nil {
		return "", err
	}
	kubernetes, err := table(settings, "kubernetes")
	if err != nil {
		return "", err
	}
	maps.Copy(kubernetes, in.bottlerocketKubelet())
	labels, err := table(kubernetes, "node-labels")
	if err != nil {
		return "", err
	}
	for k, v := range in.Labels {
		labels[k] = v
	}
	kubernetes["node-taints"] = bottlerocketTaints(in)
	if in.RAID0 {
		commands, err := table(settings, "bootstrap-commands")
		if err != nil {
			return "", err
		}
		commands["000-mount-instance-storage"] = mountInstanceStorage(in.ImageVersion)
	}
	out, err := toml.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("write TOML: %w", err)
	}
	return string(out), nil
}

// table returns the table with the name. It is added if it is missing.
func table(in map[string]any, name string) (map[string]any, error) {
	switch t := in[name].(type) {
	case nil:
		made := map[string]any{}
		in[name] = made
		return made, nil
	case map[string]any:
		return t, nil
	default:
		return nil, fmt.Errorf("read userData as TOML: %s is not a table", name)
	}
}

// bottlerocketKubelet returns the kubelet settings with Bottlerocket's names.
func (in Input) bottlerocketKubelet() map[string]any {
	k := in.Kubelet
	out := map[string]any{
		"cluster-name": in.Cluster.Name, "api-server": in.Cluster.Endpoint, "max-pods": in.MaxPods,
	}
	if in.Cluster.CABundle != "" {
		out["cluster-certificate"] = in.Cluster.CABundle
	}
	if dns := in.clusterDNS(); len(dns) > 0 {
		out["cluster-dns-ip"] = dns[0]
	}
	for name, m := range map[string]map[string]string{
		"system-reserved": k.SystemReserved, "kube-reserved": k.KubeReserved, "eviction-hard": k.EvictionHard,
		"eviction-soft": k.EvictionSoft, "eviction-soft-grace-period": k.EvictionSoftGracePeriod,
	} {
		if len(m) > 0 {
			out[name] = m
		}
	}
	if v := k.EvictionMaxPodGracePeriod; v != nil {
		out["eviction-max-pod-grace-period"] = *v
	}
	if v := k.ImageGCHighThresholdPercent; v != nil {
		out["image-gc-high-threshold-percent"] = strconv.Itoa(int(*v))
	}
	if v := k.ImageGCLowThresholdPercent; v != nil {
		out["image-gc-low-threshold-percent"] = strconv.Itoa(int(*v))
	}
	if k.CPUCFSQuota != nil {
		out["cpu-cfs-quota-enforced"] = *k.CPUCFSQuota
	}
	return out
}

func bottlerocketTaints(in Input) map[string][]string {
	out := map[string][]string{}
	for _, t := range in.Taints {
		out[t.Key] = append(out[t.Key], t.Value+":"+string(t.Effect))
	}
	return out
}

// mountInstanceStorage returns the bootstrap command that mounts local disks for the ephemeral
// storage of pods. Images before 1.46, and images whose version is not known, get a list of the
// directories.
func mountInstanceStorage(version string) map[string]any {
	bind := []string{"apiclient", "ephemeral-storage", "bind"}
	if !fromVersion(version, 1, 46) {
		bind = slices.Concat(bind, []string{"--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"})
	}
	return map[string]any{
		"commands":  [][]string{{"apiclient", "ephemeral-storage", "init"}, bind},
		"mode":      "always",
		"essential": true,
	}
}

// fromVersion reports whether version is major.minor or newer. It returns true for latest, and false for a text that
// is not a version.
func fromVersion(version string, major, minor int) bool {
	if version == "latest" {
		return true
	}
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	if errA != nil || errB != nil {
		return false
	}
	return a > major || a == major && b >= minor
}
