package model

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// DoNotDisrupt evaluates the do-not-disrupt annotation of a pod at the time now.
//
// With "true", active is true and until is zero. With a positive Go duration, the pod is protected for that time from
// its start, and until is the end of the protection, even after it has passed. Before the pod starts, active is true
// and until is zero. Any other value is invalid and does not protect the pod: a typing error must not keep a node
// forever.
func DoNotDisrupt(pod *corev1.Pod, now time.Time) (active bool, until time.Time, invalid bool) {
	value, asked := pod.Annotations[apiv1.DoNotDisruptAnnotationKey]
	if !asked {
		return false, time.Time{}, false
	}
	if value == "true" {
		return true, time.Time{}, false
	}
	span, err := time.ParseDuration(value)
	if err != nil || span <= 0 {
		return false, time.Time{}, true
	}
	if pod.Status.StartTime.IsZero() {
		return true, time.Time{}, false
	}
	until = pod.Status.StartTime.Add(span)
	return now.Before(until), until, false
}
