// Package v1beta1 holds the autoscaling.x-k8s.io/v1beta1 API: CapacityBuffer, a
// request for capacity that stays free until pods need it. The kind is shared
// with other node autoscalers.
//
// +kubebuilder:object:generate=true
// +groupName=autoscaling.x-k8s.io
package v1beta1
