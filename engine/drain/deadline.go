package drain

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Deadline returns when the node of the claim goes whatever is still on it, or the zero time if it may take as long as it
// needs.
//
// The annotation karpenter.sh/nodeclaim-termination-timestamp decides. Without it, the deadline of a claim that is being
// deleted follows from its terminationGracePeriod, so that nothing depends on who sees the claim first. An annotation that
// is no time is an error; the result is then what holds without it.
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

// graceOf is how long the pod may take to shut down: any number of seconds that a user writes, as far as a time.Duration
// holds it. The API server takes a number below zero for one second.
func graceOf(pod *corev1.Pod) time.Duration {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		if *s < 0 {
			return time.Second
		}
		return model.Seconds(*s)
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// remainingGrace is the grace period of a deletion by force: what is left until the deadline in whole seconds, but at
// least one. Zero would take the pod from the API server before its kubelet has stopped it, and two pods of one
// StatefulSet could run at once.
func remainingGrace(deadline, now time.Time) time.Duration {
	return max(deadline.Sub(now).Truncate(time.Second), time.Second)
}

// forceAt is when the pod, if it is not terminating yet, is deleted by force: late enough to give its owner the time until
// then, early enough for its whole grace period. It is zero without a deadline.
func forceAt(pod *corev1.Pod, deadline time.Time) time.Time {
	if deadline.IsZero() {
		return time.Time{}
	}
	return deadline.Add(-graceOf(pod))
}

// forced reports whether the pod is to be deleted by force now. A terminating pod is, if it would outlive the deadline and
// deleting it again would shorten that; otherwise the same deletion would be sent for ever.
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
