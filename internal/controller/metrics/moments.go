package metrics

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// boundSince returns the time at which the pod was bound to its node, or zero if it is not bound. For a pod without the
// condition PodScheduled, such as a static pod, it is the creation time.
func boundSince(pod *corev1.Pod) time.Time {
	if pod.Spec.NodeName == "" {
		return time.Time{}
	}
	if at := trueSince(pod, corev1.PodScheduled); !at.IsZero() {
		return at
	}
	return pod.CreationTimestamp.Time
}

// readySince returns the time at which the pod became ready, or zero if it is not ready.
func readySince(pod *corev1.Pod) time.Time { return trueSince(pod, corev1.PodReady) }

func trueSince(pod *corev1.Pod, t corev1.PodConditionType) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == t && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// since returns the seconds from one time to another. It is never negative, although the clocks of the API server and
// of this process may differ.
func since(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }

func lower(kind string) string { return strings.ToLower(kind) }
