package drain

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A Tier is a group of pods that leave together. Lower tiers leave first.
type Tier uint8

// The tiers in the order in which they leave.
const (
	TierOrdinary Tier = iota
	TierOrdinaryDaemon
	TierCritical
	TierCriticalDaemon
	tiers // how many there are
)

// String names the tier as explanations show it.
func (t Tier) String() string {
	switch t {
	case TierOrdinary:
		return "ordinary"
	case TierOrdinaryDaemon:
		return "ordinary daemon"
	case TierCritical:
		return "critical"
	case TierCriticalDaemon:
		return "critical daemon"
	}
	return "unknown"
}

// TierOf returns the tier in which the pod leaves. Critical are the two priority classes that Kubernetes reserves for its
// own components; a high priority of another name is not.
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

// view is the pod with the model's predicates, without the cost of adding up its requests.
func view(pod *corev1.Pod) *model.Pod {
	return &model.Pod{Key: key(pod), UID: pod.UID, Object: pod}
}

// key is namespace/name.
func key(pod *corev1.Pod) string {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}.String()
}
