package termination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// evict requests the eviction of the pod. If a PodDisruptionBudget refuses it, the result has the reason and the time
// of the next attempt.
func (c *Controller) evict(ctx context.Context, d *departure, pod *corev1.Pod) (*drain.Hold, error) {
	err := c.Client.SubResource("eviction").Create(ctx, pod.DeepCopy(), &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	})
	c.Metrics.Pods.EvictionRequestsTotal.WithLabelValues(code(err)).Inc()
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
	case refusedByBudget(err):
		retry := c.attempts.refuse(d.node, pod, refusal(pod, err), d.now)
		return &drain.Hold{Pod: pod, Cause: drain.CauseBudget, Until: retry}, nil
	}
	return nil, fmt.Errorf("evict pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

// refusedByBudget reports whether the API server refused the eviction because of PodDisruptionBudgets. If more than one selects
// the pod, the API server returns an internal error. It is handled in the same way, because the user must change a
// PodDisruptionBudget, and other pods are not affected.
func refusedByBudget(err error) bool {
	return apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "more than one PodDisruptionBudget")
}

// refusal describes why the API server refused to evict a pod. The name of the PodDisruptionBudget is taken from the text of the
// response. If that text has an unexpected form, the result has no name.
func refusal(pod *corev1.Pod, err error) string {
	if !apierrors.IsTooManyRequests(err) {
		return "selected by more than one PodDisruptionBudget, which the eviction API refuses"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			rest, named := strings.CutPrefix(cause.Message, "The disruption budget ")
			if name, _, ok := strings.Cut(rest, " "); named && ok && cause.Type == policyv1.DisruptionBudgetCause {
				return fmt.Sprintf("PodDisruptionBudget %s/%s allows no disruption", pod.Namespace, name)
			}
		}
	}
	return "its PodDisruptionBudget allows no disruption"
}

// code returns the HTTP status of a response for the label of metrics, and 500 for an error without a status.
func code(err error) string {
	if err == nil {
		return strconv.Itoa(http.StatusOK)
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code != 0 {
		return strconv.Itoa(int(status.Status().Code))
	}
	return strconv.Itoa(http.StatusInternalServerError)
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
