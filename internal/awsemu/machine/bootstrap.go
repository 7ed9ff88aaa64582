package machine

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A Bootstrap is the configuration in user data.
type Bootstrap struct {
	Cluster, Endpoint, CA, CIDR string
	Labels                      map[string]string
	Taints                      []corev1.Taint
	Kubelet                     Kubelet
	RAID0                       bool // the instance store has the kubelet's files

	needsCIDR bool // the user data of this operating system must contain the CIDR
}

// Kubelet is the part of a kubelet's configuration that affects its Node. The keys of maps are
// resources or eviction signals. A number that is 0 is not set.
type Kubelet struct {
	MaxPods, PodsPerCore         int
	KubeReserved, SystemReserved map[string]string
	EvictionHard                 map[string]string
}

// Decode reads user data like an image of the family does.
func Decode(family, userData string) (Bootstrap, error) {
	raw, err := base64.StdEncoding.DecodeString(userData)
	if err != nil {
		return Bootstrap{}, fmt.Errorf("cloud-init: user data is no base64: %w", err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return Bootstrap{}, errors.New("cloud-init: user data is empty, nothing starts the kubelet")
	}
	switch family {
	case "AL2023":
		return decodeAL2023(raw)
	case "AL2":
		return decodeAL2(raw)
	case "Bottlerocket":
		return decodeBottlerocket(raw)
	case "Windows":
		return decodeWindows(raw)
	}
	return decodeCustom(raw)
}

// decodeCustom tries the formats of the other Linux families, because custom images are usually built upon one of
// these.
func decodeCustom(raw []byte) (Bootstrap, error) {
	for _, decode := range []func([]byte) (Bootstrap, error){decodeAL2023, decodeAL2, decodeBottlerocket} {
		if b, err := decode(raw); err == nil {
			return b, nil
		}
	}
	return Bootstrap{}, errors.New("cloud-init: user data of a custom image starts no kubelet in a way that is emulated")
}

// check compares user data with the cluster. It returns the reasons why the machine cannot join the cluster, in the
// form of console output.
func (b Bootstrap) check(c Cluster) error {
	var errs []error
	wrong := func(field, got, want string) {
		errs = append(errs, fmt.Errorf("kubelet: cannot join: %s is %q, that of the cluster is %q", field, got, want))
	}
	if b.Cluster != c.Name {
		wrong("cluster name", b.Cluster, c.Name)
	}
	if strings.TrimSuffix(b.Endpoint, "/") != strings.TrimSuffix(c.Endpoint, "/") {
		wrong("API server endpoint", b.Endpoint, c.Endpoint)
	}
	if err := sameCA(b.CA, c.CA); err != nil {
		errs = append(errs, err)
	}
	if b.needsCIDR && b.CIDR != c.ServiceCIDR {
		wrong("service CIDR", b.CIDR, c.ServiceCIDR)
	}
	return errors.Join(errs...)
}

// sameCA returns an error if two bundles in base64 have different contents, or one of them is not base64.
func sameCA(got, want string) error {
	gotPEM, err := base64.StdEncoding.DecodeString(got)
	if err != nil {
		return fmt.Errorf("kubelet: cannot join: certificate authority is no base64: %w", err)
	}
	wantPEM, err := base64.StdEncoding.DecodeString(want)
	if err != nil {
		return fmt.Errorf("kubelet: the emulator was given a certificate authority that is no base64: %w", err)
	}
	if !bytes.Equal(bytes.TrimSpace(gotPEM), bytes.TrimSpace(wantPEM)) {
		return errors.New("kubelet: cannot join: x509: certificate signed by unknown authority (certificate authority is not that of the cluster)")
	}
	return nil
}

// parseLabels parses labels like a kubelet: "a=b,c=d".
func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("kubelet: invalid --node-labels: %q is no key=value", pair)
		}
		labels[k] = v
	}
	return labels, nil
}

// parseTaints parses taints like a kubelet: "a=b:NoSchedule,c:NoExecute".
func parseTaints(text string) ([]corev1.Taint, error) {
	var taints []corev1.Taint
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		keyValue, effect, ok := strings.Cut(one, ":")
		if !ok {
			return nil, fmt.Errorf("kubelet: invalid --register-with-taints: %q has no effect", one)
		}
		k, v, _ := strings.Cut(keyValue, "=")
		taints = append(taints, corev1.Taint{Key: k, Value: v, Effect: corev1.TaintEffect(effect)})
	}
	return taints, checkTaints(taints)
}

// checkTaints returns an error for taints with which a kubelet does not start.
func checkTaints(taints []corev1.Taint) error {
	for _, t := range taints {
		switch t.Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		default:
			return fmt.Errorf("kubelet: invalid taint %s: unsupported effect %q", t.Key, t.Effect)
		}
		if t.Key == "" {
			return errors.New("kubelet: invalid taint: no key")
		}
	}
	return nil
}
