package provision

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/tracing"
)

// failureTime is the time for which a pod that caused a panic of the solver is excluded from plans. It is long, because the
// search for such pods needs many plans.
const failureTime = 10 * time.Minute

// A failure records that a pod caused a panic of the solver. why is the reason of its refusal. It is excluded until the time
// until.
type failure struct {
	why   model.Verdict
	until time.Time
}

// plan returns a plan that package verify accepts. Pods and nodes that violate a rule, and pods that cause a panic, are left out
// of it. Both are bugs of Karpenter. They are logged and counted. The pods in leave are excluded as well, each for the given
// reason.
func (c *Controller) plan(ctx context.Context, s *model.Snapshot, leave map[string]model.Verdict) *model.Plan {
	options := c.Options
	options.DefaultSpread = c.Spread.Of(ctx)
	options.Excluded = c.withFailing(s, leave)
	if ignored := c.ignored(s); ignored != "" {
		options.Slack = max(options.Slack, ignoredSlack)
	}
	steps := pack.Steps{
		Solve: func(s *model.Snapshot, o pack.Options) *model.Plan {
			_, end := c.Tracer.Span(ctx, tracing.Solve, "pods", len(s.Pending()), "nodes", len(s.Nodes()))
			defer end(nil)
			return c.solve(s, o)
		},
		Check: func(s *model.Snapshot, plan *model.Plan) []verify.Violation {
			_, end := c.Tracer.Span(ctx, tracing.Verify)
			defer end(nil)
			return verify.Rules{Labels: options.Labels, DefaultSpread: options.DefaultSpread}.Plan(s, plan)
		},
	}
	checked := steps.SolveChecked(s, options)
	faults := c.Metrics.Scheduler.PlanFaultsTotal
	for _, v := range checked.Violations {
		faults.WithLabelValues(c.Name(), telemetry.FaultViolation).Inc()
		ctrl.LoggerFrom(ctx).Error(errors.New(v.String()), "internal error: plan failed verification, part of it not executed",
			"rule", v.Rule, "pod", v.Pod, "node", v.Node)
	}
	for _, p := range checked.Panics {
		faults.WithLabelValues(c.Name(), telemetry.FaultPanic).Inc()
		ctrl.LoggerFrom(ctx).Error(fmt.Errorf("panic: %s", p.Value), "internal error: planning failed for some pods, they are left out",
			"pods", keysOf(p.Pods), "count", len(p.Pods), "stack", p.Stack)
		c.noteFailing(s, p, checked.Excluded)
	}
	return checked.Plan
}

// withFailing returns leave together with the pods in c.failing. It forgets failures that have ended.
func (c *Controller) withFailing(s *model.Snapshot, leave map[string]model.Verdict) map[string]model.Verdict {
	maps.DeleteFunc(c.failing, func(_ types.UID, f failure) bool { return !s.Now.Before(f.until) })
	if len(c.failing) == 0 {
		return leave
	}
	out := map[string]model.Verdict{}
	for _, p := range append(s.Displaced(), s.Pending()...) {
		if f, ok := c.failing[p.UID]; ok {
			out[p.Key] = f.why
		}
	}
	maps.Copy(out, leave)
	return out
}

// noteFailing excludes the pods that caused the panic from plans for failureTime. leave has the reason for each pod, by key.
func (c *Controller) noteFailing(s *model.Snapshot, p pack.Panic, leave map[string]model.Verdict) {
	if c.failing == nil {
		c.failing = map[types.UID]failure{}
	}
	for _, pod := range p.Pods {
		c.failing[pod.UID] = failure{why: leave[pod.Key], until: s.Now.Add(failureTime)}
	}
}

// maxKeys is the maximum number of pods that a log line names.
const maxKeys = 20

// keysOf returns the keys of the first maxKeys pods.
func keysOf(pods []*model.Pod) []string {
	keys := make([]string, 0, min(len(pods), maxKeys))
	for _, p := range pods[:min(len(pods), maxKeys)] {
		keys = append(keys, p.Key)
	}
	return keys
}

// solve makes one plan and measures how long that takes.
func (c *Controller) solve(s *model.Snapshot, o pack.Options) *model.Plan {
	start := c.Clock.Now()
	defer func() {
		c.Metrics.Scheduler.SchedulingDurationSeconds.WithLabelValues(c.Name()).Observe(c.Clock.Since(start).Seconds())
	}()
	if c.Solve != nil {
		return c.Solve(s, o)
	}
	return pack.Solve(s, o)
}
