package sample

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// claimNamespace is the namespace of the pods that claim devices, and claimTemplate the ResourceClaimTemplate that they use.
const (
	claimNamespace = "ml"
	claimTemplate  = "two-gpus"
)

// claims returns the ResourceClaimTemplate of the pods that claim devices.
func claims() view.Claims {
	t := resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: claimNamespace, Name: claimTemplate}}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2},
	}}
	return view.NewClaims(nil, []resourcev1.ResourceClaimTemplate{t})
}

// claimDevices adds a ResourceClaim to the pod.
func claimDevices(pod *corev1.Pod) {
	name := claimTemplate
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimTemplateName: &name}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpus"}}
}
