package drain

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A Tier is a group of pods that are evicted together. Lower tiers leave first.
type Tier uint8

// The tiers in the order in which they leave.
const (
	TierOrdinary Tier = iota
	TierOrdinaryDaemon
	TierCritical
	TierCriticalDaemon
	tiers // the number of tiers
)

// TierOf returns the tier of the pod. Critical pods have one of the two system priority classes of Kubernetes. A pod
// with another priority class is not critical, however high its priority is.
func TierOf(pod *corev1.Pod) Tier {
	critical := pod.Spec.PriorityClassName == "system-cluster-critical" ||
		pod.Spec.PriorityClassName == "system-node-critical"
	daemon := view(pod).Daemon()
	switch {
	case critical && daemon:
		return TierCriticalDaemon
	case critical:
		return TierCritical
	case daemon:
		return TierOrdinaryDaemon
	}
	return TierOrdinary
}

// view returns the pod for the methods of model.Pod that read only its Object.
func view(pod *corev1.Pod) *model.Pod { return &model.Pod{Object: pod} }
