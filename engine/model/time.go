package model

import (
	"math"
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

// maxSeconds is the number of whole seconds that a time.Duration can hold, about 292 years.
const maxSeconds = math.MaxInt64 / int64(time.Second)

// Seconds returns n seconds, limited to the range from zero to the largest time.Duration.
func Seconds(n int64) time.Duration {
	return time.Duration(max(0, min(n, maxSeconds))) * time.Second
}

// ExpiresAt returns when the claim expires. ok is false if it never does, or if claim is nil.
func ExpiresAt(claim *apiv1.NodeClaim) (at time.Time, ok bool) {
	if claim == nil || claim.Spec.ExpireAfter.Duration == nil {
		return time.Time{}, false
	}
	return claim.CreationTimestamp.Add(*claim.Spec.ExpireAfter.Duration), true
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
