package termination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/parallel"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// maxRequests is the maximum number of evictions and deletions in one reconcile, so that no node occupies a worker for long. The
// remaining ones follow in the next reconcile, without a delay.
const maxRequests = 50

// requestsAtOnce is the number of concurrent requests for one node. A busy API server takes about 30 ms for an eviction, so
// sequential requests would delay the later pods.
const requestsAtOnce = 10

// drain executes a decision. It deletes the pods that would exceed the deadline, and evicts the pods of the current tier. If one
// request fails, the others are sent nevertheless.
func (c *Controller) drain(ctx context.Context, d *departure, decision *drain.Decision) (outcome, error) {
	c.setDraining(d)
	deletions := decision.Delete[:min(maxRequests, len(decision.Delete))]
	evictions := decision.Evict[:min(maxRequests-len(deletions), len(decision.Evict))]
	deleting := c.together(ctx, len(deletions), func(i int) error { return c.deleteByForce(ctx, d, deletions[i]) })
	holds := make([]*drain.Hold, len(evictions))
	evicting := c.together(ctx, len(evictions), func(i int) (err error) {
		holds[i], err = c.evict(ctx, d, evictions[i])
		return err
	})
	var refused []drain.Hold
	for _, h := range holds {
		if h != nil {
			refused = append(refused, *h)
		}
	}
	c.tellHeld(d, decision, refused)
	if err := errors.Join(deleting, evicting); err != nil {
		return outcome{}, err
	}
	if len(decision.Delete)+len(decision.Evict) > maxRequests {
		return outcome{after: time.Millisecond}, nil
	}
	next := decision.Again
	for _, h := range refused {
		if next.IsZero() || h.Until.Before(next) {
			next = h.Until
		}
	}
	return outcome{after: wait(next, d.now)}, nil
}

// together calls do for each i from 0 to n-1, several concurrently, and joins the errors in order.
func (c *Controller) together(ctx context.Context, n int, do func(i int) error) error {
	return errors.Join(parallel.Do(ctx, n, cmp.Or(c.atOnce, requestsAtOnce), do)...)
}

// tellHeld publishes why pods remain on the node, and which do-not-disrupt annotations delay evictions, have expired or are
// invalid.
func (c *Controller) tellHeld(d *departure, decision *drain.Decision, refused []drain.Hold) {
	held := append(slices.Clone(decision.Held), refused...)
	for _, h := range held {
		if h.Cause == drain.CauseDoNotDisrupt && !h.Until.IsZero() {
			c.Events.Publish(telemetry.Event{
				Object: h.Pod, Type: corev1.EventTypeNormal, Reason: telemetry.EventDoNotDisruptUntil,
				Message: "Not evicted before " + h.Until.UTC().Format(time.RFC3339) + ": annotation " + apiv1.DoNotDisruptAnnotationKey,
			})
		}
	}
	for _, pod := range decision.Evict {
		c.tellUnprotected(d, pod)
	}
	if len(held) == 0 {
		return
	}
	c.Events.Publish(telemetry.Event{
		Object: d.node, Type: corev1.EventTypeWarning, Reason: telemetry.EventFailedDraining,
		Message: c.describeHeld(d, held, decision.Remaining()),
	})
}

// tellUnprotected publishes an event if the do-not-disrupt annotation of an evicted pod is invalid or has expired.
func (c *Controller) tellUnprotected(d *departure, pod *corev1.Pod) {
	_, until, invalid := model.DoNotDisrupt(pod, d.now)
	switch {
	case invalid:
		c.Events.Publish(telemetry.Event{
			Object: pod, Type: corev1.EventTypeWarning, Reason: telemetry.EventInvalidDoNotDisruptAnnotation,
			Message: fmt.Sprintf("Annotation %s=%q is ignored: use \"true\" or a positive duration such as 30m",
				apiv1.DoNotDisruptAnnotationKey, pod.Annotations[apiv1.DoNotDisruptAnnotationKey]),
		})
	case !until.IsZero():
		c.Events.Publish(telemetry.Event{
			Object: pod, Type: corev1.EventTypeNormal, Reason: telemetry.EventDoNotDisruptGracePeriodElapsed,
			Message: fmt.Sprintf("Annotation %s expired at %s; the pod may be evicted",
				apiv1.DoNotDisruptAnnotationKey, until.UTC().Format(time.RFC3339)),
		})
	}
}

// mostNamed is the maximum number of pods whose names are in an event; the others are counted.
const mostNamed = 5

func (c *Controller) describeHeld(d *departure, held []drain.Hold, remaining int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Failed to drain node, %d of %d remaining pods cannot be evicted: ", len(held), remaining)
	for i, h := range held[:min(len(held), mostNamed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		why := "annotation " + apiv1.DoNotDisruptAnnotationKey
		if h.Cause == drain.CauseBudget {
			why = cmp.Or(c.attempts.why(d.node.UID, h.Pod.UID), "its PodDisruptionBudget allows no disruption")
		}
		fmt.Fprintf(&b, "%s/%s (%s)", h.Pod.Namespace, h.Pod.Name, why)
	}
	if more := len(held) - mostNamed; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	b.WriteString(". Fix: relax them, or set terminationGracePeriod in the NodePool to bound drains of future nodes")
	return b.String()
}
