package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Consolidatable reports whether the pool's consolidateAfter has passed since the last pod event of the claim's node
// (see LastPodEvent), or since its initialization if there was no such event. wait is the remaining time. It is zero
// if the time has passed, if consolidateAfter is Never, and if the claim is not initialized.
func Consolidatable(claim *apiv1.NodeClaim, pool *apiv1.NodePool, now time.Time) (yes bool, wait time.Duration) {
	after := pool.Spec.Disruption.ConsolidateAfter.Duration
	initialized := condition.Get(claim, apiv1.ConditionTypeInitialized)
	if after == nil || !condition.IsTrue(claim, apiv1.ConditionTypeInitialized) {
		return false, 0
	}
	since := claim.Status.LastPodEventTime.Time
	if since.IsZero() {
		since = initialized.LastTransitionTime.Time
	}
	if left := since.Add(*after).Sub(now); left > 0 {
		return false, left
	}
	return true, 0
}

// ConsolidationRequested reports whether a user has requested consolidation of the pool's nodes at or after since, which is the last pod
// event of a node or, if there was none, its initialization. Then the node is consolidatable before consolidateAfter has passed. A request
// for a time in the future has no effect yet.
func ConsolidationRequested(pool *apiv1.NodePool, since, now time.Time) bool {
	at, err := time.Parse(time.RFC3339, pool.Annotations[apiv1.ConsolidationRequestedAnnotationKey])
	return err == nil && !at.After(now) && !at.Before(since.Truncate(time.Second)) // the API stores whole seconds
}

// PodEventWindow is the least time between two writes of a claim's lastPodEventTime, so that a burst of pods causes few
// writes.
const PodEventWindow = 10 * time.Second

// LastPodEvent returns when a pod was last bound to the node, completed, or began to terminate. Each such event
// restarts consolidateAfter. The time is zero if there was none. DaemonSet pods do not count.
//
// The time is derived from the pods alone, so a restart of the controller does not delay consolidation. A time in the
// future, from another clock, counts as now.
func LastPodEvent(pods []*corev1.Pod, now time.Time) time.Time {
	var last time.Time
	for _, p := range pods {
		if at := podEvent(p); !(&model.Pod{Object: p}).Daemon() && at.After(last) {
			last = at
		}
	}
	if last.After(now) {
		return now
	}
	return last
}

// podEvent returns the time of the pod's latest event, zero if the pod is not bound.
func podEvent(p *corev1.Pod) time.Time {
	if p.Spec.NodeName == "" {
		return time.Time{}
	}
	at := boundAt(p)
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		at = model.Later(at, finishedAt(p))
	}
	if p.DeletionTimestamp != nil {
		deleted := p.DeletionTimestamp.Time
		if p.DeletionGracePeriodSeconds != nil { // the timestamp is when the grace period of the deletion ends
			deleted = deleted.Add(-model.Seconds(*p.DeletionGracePeriodSeconds))
		}
		at = model.Later(at, deleted)
	}
	return at
}

// boundAt returns when the pod was bound. A pod that was created with a node name has no condition PodScheduled, so its
// creation counts.
func boundAt(p *corev1.Pod) time.Time {
	if c := model.PodCondition(p, corev1.PodScheduled); c.Status == corev1.ConditionTrue {
		return model.Later(p.CreationTimestamp.Time, c.LastTransitionTime.Time)
	}
	return p.CreationTimestamp.Time
}

// finishedAt returns when the last container terminated or the pod's readiness last changed, whichever is later.
func finishedAt(p *corev1.Pod) time.Time {
	at := model.PodCondition(p, corev1.PodReady).LastTransitionTime.Time
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			at = model.Later(at, c.State.Terminated.FinishedAt.Time)
		}
	}
	return at
}
