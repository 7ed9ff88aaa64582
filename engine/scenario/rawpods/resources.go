package rawpods

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The quantities that pods request. The API server accepts all of them. The whole ones are for extended resources,
// which allow no fractions.
var (
	ordinary = []string{"100m", "500m", "1", "2", "0", "1500m", "1n", "999999999n"}
	absurd   = []string{
		"1k", "10P", "5Ei", "7Ei", "9E", "9223372036854775807", "9007199254740992", "9007199254740991", "8796093022208",
		"8796093022209", "9223372036854775", "9223372036854776", "1e18", "4611686018427387904",
	}
	whole       = []string{"1", "2", "0"}
	absurdWhole = []string{"1k", "10P", "9E", "9223372036854775807", "8796093022209"}
)

func (b *Bytes) quantity() resource.Quantity {
	if b.flag(8) {
		return resource.MustParse(Pick(b, absurd...))
	}
	return resource.MustParse(Pick(b, ordinary...))
}

// containers returns n containers.
func (b *Bytes) containers(prefix string, n int) []corev1.Container {
	out := make([]corev1.Container, n)
	for i := range out {
		requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
		for _, name := range some(b, corev1.ResourceCPU, corev1.ResourceMemory) {
			requests[name] = b.quantity()
		}
		if b.flag(4) {
			b.further(requests, limits)
		}
		out[i] = corev1.Container{Name: fmt.Sprintf("%s%d", prefix, i), Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}
	}
	return out
}

// further adds resources that few containers have. Extended resources and huge pages have limits equal to their
// requests, as the API server requires. Huge pages are requested in whole pages and together with cpu.
func (b *Bytes) further(requests, limits corev1.ResourceList) {
	for _, name := range some(b, corev1.ResourceEphemeralStorage, "example.com/dongle", "nvidia.com/gpu", "hugepages-2Mi") {
		switch {
		case name == corev1.ResourceEphemeralStorage:
			requests[name] = b.quantity()
			continue
		case name == "hugepages-2Mi":
			requests[corev1.ResourceCPU] = b.quantity()
			requests[name] = resource.MustParse(Pick(b, "2Mi", "1Gi", "4Ei"))
		case b.flag(4):
			requests[name] = resource.MustParse(Pick(b, absurdWhole...))
		default:
			requests[name] = resource.MustParse(Pick(b, whole...))
		}
		limits[name] = requests[name]
	}
}
