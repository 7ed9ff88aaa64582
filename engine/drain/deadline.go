package drain

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Deadline returns when the claim's node is terminated even if pods remain. The zero time means that the termination
// waits for all pods.
//
// The annotation karpenter.sh/nodeclaim-termination-timestamp takes precedence. Without it, the deadline of a claim
// that is being deleted follows from its terminationGracePeriod. If the annotation is not a valid time, Deadline
// returns an error and the deadline that holds without the annotation.
func Deadline(claim *apiv1.NodeClaim) (time.Time, error) {
	if claim == nil {
		return time.Time{}, nil
	}
	var derived time.Time
	if grace := claim.Spec.TerminationGracePeriod; grace != nil && claim.DeletionTimestamp != nil {
		derived = claim.DeletionTimestamp.Add(grace.Duration)
	}
	value, ok := claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]
	if !ok {
		return derived, nil
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return derived, fmt.Errorf("read annotation %s: %w", apiv1.NodeClaimTerminationTimestampAnnotationKey, err)
	}
	return at, nil
}

// graceOf returns the pod's termination grace period, limited to what a time.Duration can hold. As in the API server, a
// negative one means one second.
func graceOf(pod *corev1.Pod) time.Duration {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		if *s < 0 {
			return time.Second
		}
		return model.Seconds(*s)
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// remainingGrace returns the grace period of a forced deletion: the time until the deadline in whole seconds, at least
// one. With zero, the API server would remove the pod before kubelet has stopped it, and two pods of a StatefulSet with
// the same name could run.
func remainingGrace(deadline, now time.Time) time.Duration {
	return max(deadline.Sub(now).Truncate(time.Second), time.Second)
}

// forceAt returns when the pod is deleted by force: its grace period before the deadline. Without a deadline, the
// result is the zero time.
func forceAt(pod *corev1.Pod, deadline time.Time) time.Time {
	if deadline.IsZero() {
		return time.Time{}
	}
	return deadline.Add(-graceOf(pod))
}

// forced reports whether the pod is deleted by force now. A terminating pod is deleted again only if its grace period
// ends after the deadline and another deletion would shorten it.
func forced(pod *corev1.Pod, deadline, now time.Time) bool {
	if deadline.IsZero() {
		return false
	}
	if pod.DeletionTimestamp != nil {
		return pod.DeletionTimestamp.After(deadline) &&
			pod.DeletionTimestamp.After(now.Add(remainingGrace(deadline, now)))
	}
	return !now.Before(forceAt(pod, deadline))
}
