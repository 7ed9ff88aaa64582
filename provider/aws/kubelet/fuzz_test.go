package kubelet

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// FuzzParse reads kubelet sections with plain values and CEL expressions. An accepted section gives the same result
// each time, and no negative number of pods.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"maxPods: 20\nkubeReserved: {cpu: 100m}", `maxPods: "double(max_pods) * 0.7"`, `maxPods: "1 / (vcpus - 2)"`,
		`kubeReserved: {memory: "255 + 11 * max_pods", cpu: "max(61, vcpus)"}`, `maxPods: "instance_type.startsWith('m5') ? 7 : 8"`,
		`maxPods: "[1,2,3].map(x, [1,2,3].map(y, x*y)).size()"`, `evictionHard: {memory.available: 5%, nodefs.available: NaN%}`,
		`{maxPods: null, clusterDNS: [null], kubeReserved: {cpu: null}}`, `maxPods: "9223372036854775807 + vcpus"`,
	} {
		f.Add(text)
	}
	large := Subject{Type: "m5.large", VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPsPerENI: 10, MaxPods: 29}
	f.Fuzz(func(t *testing.T, text string) {
		var section map[string]apiextensionsv1.JSON
		if yaml.Unmarshal([]byte(text), &section) != nil {
			return
		}
		c, err := Parse(section)
		if err != nil {
			return
		}
		c.Unmanaged()
		got, err := c.Resolve(large)
		if err == nil && got.MaxPods != nil && *got.MaxPods < 0 {
			t.Errorf("%d pods", *got.MaxPods)
		}
		if again, againErr := c.Resolve(large); (err == nil) != (againErr == nil) ||
			err == nil && (got.MaxPods == nil) != (again.MaxPods == nil) {
			t.Errorf("%+v (%v), then %+v (%v)", got, err, again, againErr)
		}
	})
}

// FuzzThreshold checks that a percentage is within the capacity.
func FuzzThreshold(f *testing.F) {
	for _, value := range []string{"5%", "100%", "0%", "NaN%", "Inf%", "-0%", "1e-300%", "100Mi", "9E", "-1", "%"} {
		f.Add(value, int64(8<<30))
	}
	f.Fuzz(func(t *testing.T, value string, capacity int64) {
		if capacity < 0 || capacity > 1<<50 {
			return
		}
		got, err := Threshold(value, capacity)
		if err == nil && value != "" && value[len(value)-1] == '%' && (got < 0 || got > capacity) {
			t.Errorf("%s of %d is %d", value, capacity, got)
		}
	})
}
