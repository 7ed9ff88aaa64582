package kubelet

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) (Config, error) {
	t.Helper()
	var section map[string]apiextensionsv1.JSON
	if err := yaml.Unmarshal([]byte(text), &section); err != nil {
		t.Fatal(err)
	}
	return Parse(section)
}

func TestParse(t *testing.T) {
	c, err := parse(t, `
maxPods: 0
kubeReserved: {cpu: 100m, memory: "max_pods * 11"}
clusterDNS: ["10.0.0.10"]
cpuCFSQuota: false
serializeImagePulls: false
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxPods == nil || *c.MaxPods != 0 || c.PodsPerCore != nil || c.CPUCFSQuota == nil || *c.CPUCFSQuota {
		t.Errorf("read %+v", c)
	}
	if c.KubeReserved["cpu"] != "100m" || c.KubeReserved["memory"] != "" {
		t.Errorf("kubeReserved is %v", c.KubeReserved)
	}
	if !slices.Equal(c.Expressions, []string{"kubeReserved.memory"}) {
		t.Errorf("expressions are %v", c.Expressions)
	}
	if !slices.Equal(c.Unmanaged(), []string{"serializeImagePulls"}) {
		t.Errorf("unmanaged fields are %v", c.Unmanaged())
	}
	if c, err = parse(t, `maxPods: "vcpus * 10"`); err != nil || c.MaxPods != nil || len(c.Expressions) != 1 {
		t.Errorf("an expression for maxPods: %+v, %v", c, err)
	}
	if c, err = Parse(nil); err != nil || c.Raw != nil {
		t.Errorf("nothing: %+v, %v", c, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"maxPod: 5", "maxPod"},
		{"maxPods: [5]", "kubelet"},
		{"maxPods: -1", "maxPods: -1 is negative"},
		{"registerWithTaints: []", "registerWithTaints"},
		{"evictionHard: {memory.free: 5%}", `unknown signal "memory.free"`},
		{"evictionHard: {memory.available: 101%}", "evictionHard.memory.available"},
		{"evictionHard: {memory.available: -5Mi}", "negative"},
		{"evictionMinimumReclaim: {memory.available: x}", "evictionMinimumReclaim.memory.available"},
		{"evictionSoft: {memory.available: 5%}", "same signals"},
		{"evictionSoft: {memory.available: 5%}\nevictionSoftGracePeriod: {memory.available: -1s}", "duration"},
		{"evictionSoftGracePeriod: {disk: 1s}", `unknown signal "disk"`},
		{"kubeReserved: {gpu: \"1\"}", `unknown resource "gpu"`},
		{"systemReserved: {cpu: -100m}", "negative"},
		{"imageGCHighThresholdPercent: 101", "more than 100"},
		{"imageGCHighThresholdPercent: 70\nimageGCLowThresholdPercent: 70", "must be more than"},
		{"podsPerCore: -1", "podsPerCore"},
	} {
		_, err := parse(t, tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q in it", tt.text, err, tt.want)
		}
	}
	_, err := parse(t, "maxPods: -1\npodsPerCore: -1")
	if err == nil || strings.Count(err.Error(), "negative") != 2 {
		t.Errorf("two mistakes: %v", err)
	}
}

func TestThreshold(t *testing.T) {
	for _, tt := range []struct {
		text     string
		capacity int64
		want     int64
		bad      bool
	}{
		{"5%", 1000, 50, false}, {"5%", 1001, 51, false}, {"100%", 1000, 0, false}, {"0%", 1000, 0, false},
		{"1Ki", 9, 1024, false}, {"x", 9, 0, true}, {"-1%", 9, 0, true}, {"101%", 9, 0, true}, {"%", 9, 0, true},
	} {
		got, err := Threshold(tt.text, tt.capacity)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s of %d is %d, %v; want %d", tt.text, tt.capacity, got, err, tt.want)
		}
	}
}
