package scheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// setUnscheduled sets the condition PodScheduled to False. It changes nothing if the condition is the same already.
func setUnscheduled(status *corev1.PodStatus, generation int64, reason, message string, now time.Time) {
	c := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	_, old := podutil.GetPodCondition(status, corev1.PodScheduled)
	if old == nil {
		status.Conditions = append(status.Conditions, c)
		return
	}
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	c.LastProbeTime = old.LastProbeTime
	*old = c
}

// writeStatus patches the status of a pod. It writes nothing if the status is unchanged.
func (s *Scheduler) writeStatus(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	if err := schedutil.PatchPodStatus(ctx, s.profile.client, pod.Name, pod.Namespace, &pod.Status, status); err != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	return nil
}
