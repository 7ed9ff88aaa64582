package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/methods"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/engine/verify"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// launchStatic launches the missing nodes of static NodePools. It launches as many as the throttle allows, and publishes events
// about the others. Nodes that exceed the limits, because other controllers launch nodes at the same time, are left to the next
// pass.
func (c *Controller) launchStatic(ctx context.Context, s *model.Snapshot, nodes []model.PlannedNode) error {
	now := s.Now
	var held []model.PlannedNode
	if left, bounded := c.Throttle.Left(throttle.Launch, now); bounded && len(nodes) > left {
		nodes, held = nodes[:left:left], nodes[left:]
	}
	c.Metrics.Throttle.HeldBack.WithLabelValues("static").Set(float64(len(held)))
	c.tellLaunchesWithheld(ctx, held)
	if len(nodes) == 0 {
		return nil
	}
	may, done := c.Limits.Take(c.Name(), verify.Rules{Labels: c.Options.Pack.Labels}, s, nodes)
	defer done()
	var within []model.PlannedNode
	for i, n := range nodes {
		if may[i] {
			within = append(within, n)
		}
	}
	launches, err := c.Actor.Launch(ctx, &model.Plan{Nodes: within})
	c.Throttle.Done(throttle.Launch, len(launches), now)
	for _, l := range launches {
		c.Cluster.Assume(l.Claim)
		c.tellLaunched(ctx, l, "static")
	}
	c.recordStaticLaunches(s, launches)
	return err
}

// reasonStaticScaleIn is the reason for deleting nodes of a static NodePool that has more nodes than replicas.
const reasonStaticScaleIn apiv1.DisruptionReason = telemetry.DisruptedStaticScaleIn

// deleteStatic deletes nodes of static NodePools.
func (c *Controller) deleteStatic(ctx context.Context, s *model.Snapshot, nodes []*model.Node) error {
	var errs []error
	for _, n := range nodes {
		if err := c.Actor.End(ctx, n); err != nil {
			errs = append(errs, err)
			continue
		}
		c.tellDeleted(ctx, s, n, reasonStaticScaleIn)
		c.recordStaticScaleIn(ctx, s, n)
	}
	return errors.Join(errs...)
}

// tellShortfalls publishes warnings on static NodePools whose missing nodes cannot be launched. NodePools that are not ready have
// a condition that says so.
func (c *Controller) tellShortfalls(short []methods.Shortfall) {
	for _, x := range short {
		if x.Verdict.Rule != model.RuleNoPlace && x.Verdict.Rule != model.RuleMinValues {
			continue
		}
		c.Events.Publish(telemetry.Event{
			Object: x.Pool.Object, Type: corev1.EventTypeWarning, Reason: telemetry.EventNoCompatibleInstanceTypes,
			Message: fmt.Sprintf("%s of spec.replicas cannot be launched: %s", units.Counted(x.Nodes, "node"), explain.Sentence(x.Verdict)),
			Dedupe:  []string{x.Pool.Name, "static"},
		})
	}
}

// tellLaunchesWithheld publishes events on static NodePools whose nodes were not launched because of the throttle.
func (c *Controller) tellLaunchesWithheld(ctx context.Context, held []model.PlannedNode) {
	var plans []*model.Plan
	for _, n := range held {
		if len(plans) == 0 || plans[len(plans)-1].Nodes[0].Pool != n.Pool {
			plans = append(plans, &model.Plan{})
		}
		p := plans[len(plans)-1]
		p.Nodes = append(p.Nodes, n)
		p.Price += n.Price()
	}
	for _, p := range plans {
		pool, limit := p.Nodes[0].Pool, c.Throttle.Why(throttle.Launch)
		c.Events.Publish(telemetry.Event{
			Object: pool.Object, Type: corev1.EventTypeNormal, Reason: telemetry.EventLaunchWithheld,
			Message: fmt.Sprintf("Not launched, %s: %s ($%.4f/h)", limit, strings.Join(p.Mix(), ", "), p.Price),
		})
		ctrl.LoggerFrom(ctx).Info("launch withheld", "limit", limit, "NodePool", klog.KRef("", pool.Name),
			"nodes", len(p.Nodes), "instance-types", p.Mix(), "price-per-hour", p.Price)
	}
}
