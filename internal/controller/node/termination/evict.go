package termination

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/controller/internal/eviction"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// evict requests the eviction of the pod. If a PodDisruptionBudget refuses it, the result has the reason and the time
// of the next attempt.
func (c *Controller) evict(ctx context.Context, d *departure, pod *corev1.Pod) (*drain.Hold, error) {
	err := eviction.Request(ctx, c.Client, c.Metrics.Pods, pod)
	switch {
	case err == nil:
		c.attempts.accept(d.node.UID, pod.UID, d.now)
		c.told(d, pod, telemetry.EventEvicted, func(cause string) string {
			return fmt.Sprintf("Evicted pod: %s (node %s is being drained)", cause, d.node.Name)
		})
		return nil, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		// The pod no longer exists, or another pod has its name. The watch will deliver this change.
		c.attempts.accept(d.node.UID, pod.UID, d.now)
		return nil, nil
	case eviction.Refused(err):
		retry := c.attempts.refuse(d.node, pod, eviction.Refusal(pod, err), d.now)
		return &drain.Hold{Pod: pod, Cause: drain.CauseBudget, Until: retry}, nil
	}
	return nil, fmt.Errorf("evict pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

// deleteByForce deletes a pod that would otherwise run after the deadline. Its grace period ends at the deadline.
func (c *Controller) deleteByForce(ctx context.Context, d *departure, f drain.Deletion) error {
	err := c.Client.Delete(ctx, f.Pod.DeepCopy(),
		client.GracePeriodSeconds(int64(f.Grace.Seconds())), client.Preconditions{UID: &f.Pod.UID})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete pod %s/%s: %w", f.Pod.Namespace, f.Pod.Name, err)
	}
	if c.attempts.force(d.node.UID, f.Pod.UID) {
		c.told(d, f.Pod, telemetry.EventDisrupted, func(cause string) string {
			return fmt.Sprintf("Deleted pod with %s to shut down: node %s reaches its termination deadline (%s); PodDisruptionBudgets do not apply",
				units.Period(f.Grace), d.node.Name, cause)
		})
	}
	return nil
}

// told publishes an event about an evicted or deleted pod, and counts the pod. Without a claim the cause in the event is
// forceful.
func (c *Controller) told(d *departure, pod *corev1.Pod, reason string, message func(cause string) string) {
	why := cause(d.claim)
	c.Metrics.Pods.DrainedTotal.WithLabelValues(why).Inc()
	c.Events.Publish(telemetry.Event{
		Object: pod, Type: corev1.EventTypeNormal, Reason: reason, Message: message(cmp.Or(why, forceful)),
	})
}
