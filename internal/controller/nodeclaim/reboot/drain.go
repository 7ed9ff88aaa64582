package reboot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/controller/internal/eviction"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// maxEvictions is the maximum number of evictions in one reconcile.
const maxEvictions = 50

// decideDrain reads the pods of the node and decides which of them are evicted before the reboot. Pods of DaemonSets are not
// evicted. PodDisruptionBudgets and do-not-disrupt protect pods only until the time limit of the drain (repair.RebootBound).
func (c *Controller) decideDrain(ctx context.Context, node *corev1.Node, now time.Time) (drain.Decision, error) {
	pods, err := lookup.PodsOf(ctx, c.Client, node.Name)
	if err != nil {
		return drain.Decision{}, err
	}
	state := drain.State{Now: now}
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(pod); owner == nil || owner.Kind != "DaemonSet" {
			state.Pods = append(state.Pods, pod)
		}
	}
	return drain.Decide(state), nil
}

// evict evicts pods of the node, at most maxEvictions of them. Evictions that a PodDisruptionBudget refuses are repeated in the
// next reconcile.
func (c *Controller) evict(ctx context.Context, node *corev1.Node, pods []*corev1.Pod) error {
	var errs []error
	refused := 0
	var firstRefusal string
	for _, pod := range pods[:min(maxEvictions, len(pods))] {
		err := eviction.Request(ctx, c.Client, c.Metrics.Pods, pod)
		switch {
		case err == nil:
			c.Metrics.Pods.DrainedTotal.WithLabelValues(string(status.ReasonUnhealthy)).Inc()
			c.Events.Publish(telemetry.Event{
				Object: pod, Type: corev1.EventTypeNormal, Reason: telemetry.EventEvicted,
				Message: fmt.Sprintf("Evicted pod: node %s is being rebooted", node.Name),
			})
		case eviction.Refused(err):
			refused++
			firstRefusal = cmp.Or(firstRefusal, fmt.Sprintf("%s/%s: %s", pod.Namespace, pod.Name, eviction.Refusal(pod, err)))
		case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInternalError(err):
		default:
			errs = append(errs, fmt.Errorf("evict pod %s/%s: %w", pod.Namespace, pod.Name, err))
		}
	}
	if refused > 0 {
		c.Events.Publish(telemetry.Event{
			Object: node, Type: corev1.EventTypeWarning, Reason: telemetry.EventFailedDraining,
			Message: fmt.Sprintf("The reboot waits for the eviction of %s, such as %s", units.Counted(refused, "pod"), firstRefusal),
		})
	}
	return errors.Join(errs...)
}
