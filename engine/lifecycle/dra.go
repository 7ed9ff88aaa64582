package lifecycle

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// unpublishedDriver returns the first DRA driver that the claim's pods need and that has not published a complete pool
// of devices on the node.
func unpublishedDriver(v View) (driver string, ok bool) {
	if !v.DRA {
		return "", false
	}
	for driver := range strings.SplitSeq(v.Claim.Annotations[apiv1.RequestedDRADriversAnnotationKey], ",") {
		driver = strings.TrimSpace(driver)
		if driver != "" && !published(driver, v.Slices) {
			return driver, true
		}
	}
	return "", false
}

// published reports whether at least one resource pool of the driver is complete: the slices of its newest generation
// are as many as its ResourceSliceCount.
func published(driver string, slices []*resourcev1.ResourceSlice) bool {
	newest := map[string]int64{}
	for _, s := range slices {
		if s.Spec.Driver == driver {
			newest[s.Spec.Pool.Name] = max(newest[s.Spec.Pool.Name], s.Spec.Pool.Generation)
		}
	}
	seen := map[string]int64{}
	for _, s := range slices {
		pool := s.Spec.Pool
		if s.Spec.Driver != driver || pool.Generation != newest[pool.Name] {
			continue
		}
		seen[pool.Name]++
		if seen[pool.Name] >= pool.ResourceSliceCount {
			return true
		}
	}
	return false
}
