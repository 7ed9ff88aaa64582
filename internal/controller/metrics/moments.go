package metrics

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// boundSince returns when the pod was bound to its node, or zero while it is not. Without a condition that says so, as of
// a static pod, it is when the pod was created.
func boundSince(pod *corev1.Pod) time.Time {
	if pod.Spec.NodeName == "" {
		return time.Time{}
	}
	if at := trueSince(pod, corev1.PodScheduled); !at.IsZero() {
		return at
	}
	return pod.CreationTimestamp.Time
}

// readySince returns since when the pod has been ready, or zero if it is not.
func readySince(pod *corev1.Pod) time.Time { return trueSince(pod, corev1.PodReady) }

func trueSince(pod *corev1.Pod, t corev1.PodConditionType) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == t && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// since returns the seconds from one moment to another. Clocks of the API server and of this process differ, so it is zero
// rather than negative.
func since(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }

func lower(kind string) string { return strings.ToLower(kind) }
