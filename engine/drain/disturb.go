package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// DoNotDisrupt tells what the do-not-disrupt annotation of a pod means at the time now.
//
// The value "true" protects for good: active, with until zero. A positive Go duration protects from the start of the pod:
// until is when that ends, and active is false once it has (a zero until with active false means that nothing was asked
// for). A pod that has not started is protected, with until still unknown and zero. Any other value is invalid and
// protects nothing: a typo that kept a node for ever would be worse than one that the user is told of.
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
