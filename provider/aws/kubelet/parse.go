package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	sigsjson "sigs.k8s.io/json"
)

// A Config is a parsed kubelet section. The zero Config has the defaults of all fields.
type Config struct {
	ClusterDNS  []string
	MaxPods     *int32
	PodsPerCore *int32

	SystemReserved, KubeReserved map[string]string

	EvictionHard, EvictionSoft map[string]string
	EvictionSoftGracePeriod    map[string]string
	EvictionMaxPodGracePeriod  *int32

	ImageGCHighThresholdPercent, ImageGCLowThresholdPercent *int32

	CPUCFSQuota *bool

	// Raw is the whole section as decoded JSON, for families that pass it to kubelet unchanged.
	Raw map[string]any
	// Expressions are the names of the fields whose value is a CEL expression, maxPods first. Resolve evaluates them.
	Expressions []string
	expressions []expression
}

// An ExpressionError joins the errors of expressions.
type ExpressionError struct{ Err error }

func (e *ExpressionError) Error() string { return e.Err.Error() }

func (e *ExpressionError) Unwrap() error { return e.Err }

// managed are the fields that Config has as Go fields.
var managed = []string{
	"clusterDNS", "maxPods", "podsPerCore", "systemReserved", "kubeReserved", "evictionHard", "evictionSoft",
	"evictionSoftGracePeriod", "evictionMaxPodGracePeriod", "imageGCHighThresholdPercent",
	"imageGCLowThresholdPercent", "cpuCFSQuota",
}

// Unmanaged returns the sorted names of the fields of c that only families with RawKubelet apply.
func (c Config) Unmanaged() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Raw)), func(k string) bool {
		return slices.Contains(managed, k)
	})
}

// Parse decodes and checks the section. The error joins all problems. If a field has the wrong type, the Config has
// only Raw. Otherwise it has all fields, also those with invalid values. CEL expressions are compiled but not
// evaluated. Until Resolve is called, their fields have the defaults. If only expressions are invalid, the error is
// an ExpressionError.
func Parse(section map[string]apiextensionsv1.JSON) (Config, error) {
	if len(section) == 0 {
		return Config{}, nil
	}
	var c Config
	raw, err := json.Marshal(section)
	if err != nil {
		return c, fmt.Errorf("encode kubelet section: %w", err)
	}
	if err := json.Unmarshal(raw, &c.Raw); err != nil {
		return c, fmt.Errorf("decode kubelet section: %w", err)
	}
	strict, texts := maps.Clone(c.Raw), map[string]string{}
	if text, ok := strict["maxPods"].(string); ok {
		texts["maxPods"] = text
		delete(strict, "maxPods")
	}
	plain, err := json.Marshal(strict)
	if err != nil {
		return c, fmt.Errorf("encode kubelet section: %w", err)
	}
	var k kubeletv1beta1.KubeletConfiguration
	problems, err := sigsjson.UnmarshalStrict(plain, &k)
	if err != nil {
		return c, fmt.Errorf("kubelet: %w", err)
	}
	c.take(&k)
	setAside("kubeReserved", c.KubeReserved, texts)
	setAside("systemReserved", c.SystemReserved, texts)
	wrong := c.addExpressions(texts)
	errs := slices.Clone(problems)
	if _, ok := c.Raw["registerWithTaints"]; ok {
		errs = append(errs, errors.New("registerWithTaints is set by Karpenter, use the taints of the NodePool"))
	}
	errs = append(errs, c.check()...)
	errs = append(errs, checkThresholds("evictionMinimumReclaim", k.EvictionMinimumReclaim)...)
	if len(errs) == 0 && len(wrong) > 0 {
		return c, &ExpressionError{Err: errors.Join(wrong...)}
	}
	return c, errors.Join(append(errs, wrong...)...)
}

// take copies the managed fields.
func (c *Config) take(k *kubeletv1beta1.KubeletConfiguration) {
	optional := func(name string, v int32) *int32 {
		if f, ok := c.Raw[name]; !ok || f == nil {
			return nil
		}
		if _, isString := c.Raw[name].(string); isString {
			return nil
		}
		return &v
	}
	c.ClusterDNS = k.ClusterDNS
	c.MaxPods, c.PodsPerCore = optional("maxPods", k.MaxPods), optional("podsPerCore", k.PodsPerCore)
	c.SystemReserved, c.KubeReserved = maps.Clone(k.SystemReserved), maps.Clone(k.KubeReserved)
	c.EvictionHard, c.EvictionSoft = k.EvictionHard, k.EvictionSoft
	c.EvictionSoftGracePeriod = k.EvictionSoftGracePeriod
	c.EvictionMaxPodGracePeriod = optional("evictionMaxPodGracePeriod", k.EvictionMaxPodGracePeriod)
	c.ImageGCHighThresholdPercent, c.ImageGCLowThresholdPercent = k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	c.CPUCFSQuota = k.CPUCFSQuota
}

// setAside moves values that are not quantities from m to texts, because they may be expressions. The keys of texts
// are the field, a dot and the key in m. A value that begins with a minus sign stays, and is reported as negative.
func setAside(field string, m, texts map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if _, err := resource.ParseQuantity(m[k]); err != nil && !strings.HasPrefix(m[k], "-") {
			texts[field+"."+k] = m[k]
			delete(m, k)
		}
	}
}

// Threshold returns an eviction threshold in the unit of the capacity, rounded up. A percentage is relative to the
// capacity. 100% disables the threshold.
func Threshold(value string, capacity int64) (int64, error) {
	percent, isPercent := strings.CutSuffix(value, "%")
	if !isPercent {
		q, err := resource.ParseQuantity(value)
		if err != nil {
			return 0, fmt.Errorf("%q is neither a percentage nor a quantity", value)
		}
		return q.Value(), nil
	}
	p, err := strconv.ParseFloat(percent, 64)
	if err != nil || !(p >= 0 && p <= 100) { // also true for NaN
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", value)
	}
	if p == 100 {
		return 0, nil
	}
	exact := float64(capacity) / 100 * p
	whole := int64(exact)
	if float64(whole) < exact {
		whole++
	}
	return whole, nil
}
