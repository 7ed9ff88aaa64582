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

// planWithPauses plans without launches for pods whose last launch failed them a short while ago. It returns these pods by
// key, each with the reason. They are still placed where there is room.
func (c *Controller) planWithPauses(ctx context.Context, s *model.Snapshot) (*model.Plan, map[string]model.Verdict) {
	plan := c.plan(ctx, s, nil)
	waits := c.backOff(ctx, s, plan)
	for len(waits) > 0 {
		// Others may be planned onto new nodes now that these are not; each round leaves out at least one pod more.
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

// backOff decides which pods of the plan wait for their launch, and reports what is new about earlier launches.
func (c *Controller) backOff(ctx context.Context, s *model.Snapshot, plan *model.Plan) map[string]model.Verdict {
	d := launchbackoff.Decide(c.launches, s, plan)
	c.launches = d.State
	c.tellUnused(ctx, d.Findings)
	return d.Wait
}

// again returns when to begin another round if nothing else changes.
func (c *Controller) again(now time.Time) time.Duration {
	if next := launchbackoff.NextLaunch(c.launches, now); !next.IsZero() {
		return min(retry, next.Sub(now))
	}
	return retry
}

// tellUnused reports launches whose nodes could not run their pods: each claim is counted once, each pod gets an event.
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
