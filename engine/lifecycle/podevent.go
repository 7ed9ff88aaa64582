package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// PodEventWindow is the least time between two writes of a claim's last pod event: it is not written for each pod of a burst.
const PodEventWindow = 10 * time.Second

// LastPodEvent returns when one of the pods last was bound to the node, ran to its end, or was told to go: the events
// that put off consolidation. It returns the zero time if none did; pods of daemons do not count.
//
// The moment is read off the pods, so that it is the same whenever and however often it is asked for: a controller that
// starts anew puts off nothing. What another clock calls the future counts as now.
func LastPodEvent(pods []*corev1.Pod, now time.Time) time.Time {
	var last time.Time
	for _, p := range pods {
		if at := podEvent(p); !ofDaemon(p) && at.After(last) {
			last = at
		}
	}
	if last.After(now) {
		return now
	}
	return last
}

// podEvent returns the newest of the pod's events, zero if it is not bound.
func podEvent(p *corev1.Pod) time.Time {
	if p.Spec.NodeName == "" {
		return time.Time{}
	}
	at := boundAt(p)
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		at = later(at, finishedAt(p))
	}
	if p.DeletionTimestamp != nil {
		at = later(at, deletedAt(p))
	}
	return at
}

// boundAt is when the pod was given its node. A pod that was made with a node name has no such condition.
func boundAt(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return later(p.CreationTimestamp.Time, c.LastTransitionTime.Time)
		}
	}
	return p.CreationTimestamp.Time
}

// finishedAt is when the last of the pod's containers ended.
func finishedAt(p *corev1.Pod) time.Time {
	var at time.Time
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			at = later(at, c.State.Terminated.FinishedAt.Time)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			at = later(at, c.LastTransitionTime.Time)
		}
	}
	return at
}

// deletedAt is when the pod was told to go: its deletion timestamp is the end of the grace it was given.
func deletedAt(p *corev1.Pod) time.Time {
	at := p.DeletionTimestamp.Time
	if p.DeletionGracePeriodSeconds != nil {
		at = at.Add(-model.Seconds(*p.DeletionGracePeriodSeconds))
	}
	return at
}

func ofDaemon(p *corev1.Pod) bool {
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet"
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
