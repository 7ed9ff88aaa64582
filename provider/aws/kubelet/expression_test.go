package kubelet

import (
	"errors"
	"maps"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func section(t *testing.T, text string) map[string]apiextensionsv1.JSON {
	t.Helper()
	var out map[string]apiextensionsv1.JSON
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestResolve(t *testing.T) {
	large := Subject{Type: "m5.large", VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPsPerENI: 10, MaxPods: 29}
	for _, tt := range []struct {
		name, text   string
		pods         int32
		kube, system map[string]string
	}{
		{"plain values stay", "maxPods: 20\nkubeReserved: {cpu: 100m}", 20, map[string]string{"cpu": "100m"}, nil},
		{"pods of the family's default", `maxPods: "max_pods - 9"`, 20, nil, nil},
		{"pods of the interfaces", `maxPods: "(default_enis - 1) * (ips_per_eni - 1) + 2"`, 20, nil, nil},
		{"a double is cut off", `maxPods: "double(max_pods) * 0.7"`, 20, nil, nil},
		{"the lesser of two kinds of numbers", `maxPods: "min(110, double(vcpus) * 12.5)"`, 25, nil, nil},
		{"by name", `maxPods: "instance_type.startsWith('m5') ? 7 : 8"`, 7, nil, nil},
		{"reserves see the pods, and are rounded up", "maxPods: \"20\"\nkubeReserved: {cpu: \"max(61, vcpus)\", memory: 255 + 11 * max_pods, ephemeral-storage: vcpus + 1, pid: memory_mib / 8}",
			20, map[string]string{"cpu": "70m", "memory": "480Mi", "ephemeral-storage": "3Gi", "pid": "1024"}, nil},
		{"both reserves", `{kubeReserved: {cpu: 80m, memory: "memory_mib / 100"}, systemReserved: {memory: "vcpus * 16"}}`,
			0, map[string]string{"cpu": "80m", "memory": "96Mi"}, map[string]string{"memory": "32Mi"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(section(t, tt.text))
			if err != nil {
				t.Fatal(err)
			}
			before := maps.Clone(c.KubeReserved)
			got, err := c.Resolve(large)
			if err != nil {
				t.Fatal(err)
			}
			pods := int32(0)
			if got.MaxPods != nil {
				pods = *got.MaxPods
			}
			if pods != tt.pods || !maps.Equal(got.KubeReserved, tt.kube) || !maps.Equal(got.SystemReserved, tt.system) {
				t.Errorf("%d pods, kube %v, system %v; want %d, %v, %v", pods, got.KubeReserved, got.SystemReserved, tt.pods, tt.kube, tt.system)
			}
			if !maps.Equal(c.KubeReserved, before) {
				t.Error("one type's outcome is left behind for the next")
			}
		})
	}
}

// An expression without a value leaves its field at the default and is reported, with field, text and type.
func TestResolveFails(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{`maxPods: "10 / (vcpus - 2)"`, "maxPods"},
		{`maxPods: "vcpus - 3"`, "negative"},
		{`maxPods: "vcpus * 2000000000"`, "too many"},
		{`kubeReserved: {memory: "1.0 / 0.0"}`, "no number"},
		{`systemReserved: {cpu: "5 % (vcpus - 2)"}`, "systemReserved.cpu"},
	} {
		c, err := Parse(section(t, tt.text))
		if err != nil {
			t.Fatalf("%s: %v", tt.text, err)
		}
		got, err := c.Resolve(Subject{Type: "m5.large", VCPUs: 2})
		if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "m5.large") {
			t.Errorf("%s: %v, want it to say %q", tt.text, err, tt.says)
		}
		if got.MaxPods != nil || len(got.KubeReserved)+len(got.SystemReserved) != 0 {
			t.Errorf("%s: comes to %+v", tt.text, got)
		}
	}
}

// An expression that cannot be parsed has an error of its own kind.
func TestBadExpressions(t *testing.T) {
	for _, text := range []string{
		`maxPods: "vcpus *"`, `maxPods: "pods + 1"`, `maxPods: "instance_type"`, `maxPods: "max(1)"`, `kubeReserved: {cpu: "a lot"}`,
	} {
		_, err := Parse(section(t, text))
		var bad *ExpressionError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := Parse(section(t, "maxPods: \"vcpus *\"\nnoSuchField: 1"))
	var bad *ExpressionError
	if err == nil || errors.As(err, &bad) {
		t.Errorf("with another mistake beside it: %v", err)
	}
}

// An expression whose evaluation would take very long is an error, within a bounded time.
func TestCostOfExpressionsIsBounded(t *testing.T) {
	digits := "[0,1,2,3,4,5,6,7,8,9]"
	loops := "1"
	for _, variable := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		loops = digits + ".map(" + variable + ", " + loops + ").size()"
	}
	c, err := Parse(section(t, `maxPods: "`+loops+`"`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Resolve(Subject{Type: "m5.large", VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPsPerENI: 10, MaxPods: 29})
	if err == nil || !strings.Contains(err.Error(), "cost limit") {
		t.Errorf("error is %v, want one about the cost limit", err)
	}
}
