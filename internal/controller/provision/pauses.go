package provision

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/engine/launchbackoff"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// planWithPauses makes a plan that launches nothing for pods whose launch backoff has not ended. Such a pod is placed if the
// plan has room for it on an existing node. Pods in backoff for which it would launch a node are excluded from the next
// attempt. These are returned by pod key, each with the reason of the backoff.
func (c *Controller) planWithPauses(ctx context.Context, s *model.Snapshot) (*model.Plan, map[string]model.Verdict) {
	plan := c.plan(ctx, s, nil)
	waits := c.backOff(ctx, s, plan)
	if waits == nil {
		waits = map[string]model.Verdict{}
	}
	for len(waits) > 0 {
		// Without the excluded pods, the new plan may launch nodes for other pods in backoff. Each iteration excludes at least
		// one more pod, so the loop ends.
		plan = c.plan(ctx, s, waits)
		more := c.backOff(ctx, s, plan)
		if len(more) == 0 {
			break
		}
		maps.Copy(waits, more)
	}
	c.Metrics.Scheduler.BackoffPodsCount.WithLabelValues(c.Name()).Set(float64(len(waits)))
	return plan, waits
}

// backOff returns the pods of the plan whose launch is delayed, with the reasons. It reports launched nodes that could not run
// their pods.
func (c *Controller) backOff(ctx context.Context, s *model.Snapshot, plan *model.Plan) map[string]model.Verdict {
	d := launchbackoff.Decide(c.launches, s, plan)
	c.launches = d.State
	c.tellUnused(ctx, d.Findings)
	return d.Wait
}

// again returns the delay until the next round if nothing changes.
func (c *Controller) again(now time.Time) time.Duration {
	if next := launchbackoff.NextLaunch(c.launches, now); !next.IsZero() {
		return min(retry, next.Sub(now))
	}
	return retry
}

// tellUnused reports launched nodes that could not run their pods. It counts each claim once and publishes an event on each
// pending pod in found.
func (c *Controller) tellUnused(ctx context.Context, found []launchbackoff.Finding) {
	counted := map[string]bool{}
	for _, f := range found {
		if !counted[f.Claim] {
			counted[f.Claim] = true
			c.Metrics.Scheduler.UnusableLaunchesTotal.WithLabelValues(f.Pool).Inc()
			ctrl.LoggerFrom(ctx).Info("launched node unusable for its pods, backing off", "NodeClaim", klog.KRef("", f.Claim),
				"NodePool", klog.KRef("", f.Pool), "cause", f.Why, "retry-after", f.Until)
		}
		if f.Pod.Virtual() || f.Pod.Bound() {
			continue
		}
		c.Events.Publish(telemetry.Event{
			Object: f.Pod.Object, Type: corev1.EventTypeWarning, Reason: telemetry.EventLaunchBackoff, Message: f.Message(),
		})
	}
}
