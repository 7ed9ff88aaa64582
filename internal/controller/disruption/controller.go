package disruption

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/singleton"
	"github.com/karpenter-go/karpenter/internal/controller/supply"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Controller disrupts. There is one for the cluster.
type Controller struct {
	Cluster *observe.Cluster
	Actor   *act.Actor
	Cloud   cloud.Provider
	Clock   clock.Clock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics

	last time.Time // when the last pass began
}

// Intervals of disruption.
const (
	// poll is how often to look when nothing has changed: budgets open by the clock.
	poll = 10 * time.Second
	// pause is the least time between two passes.
	pause = time.Second
	// settle is how long a mark stands before it is acted on, so that the watch shows pods that were bound just before it.
	settle = 2 * time.Second
	// syncing is how often to ask whether the first lists are in.
	syncing = 100 * time.Millisecond
)

// Name returns the controller's name.
func (c *Controller) Name() string { return "disruption" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		Watches(&apiv1.NodeClaim{}, singleton.Handler()).
		Complete(c)
}

// Reconcile makes one pass: what is marked is finished or taken back, then what may go is marked.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() {
		return ctrl.Result{RequeueAfter: syncing}, nil
	}
	now := c.Clock.Now()
	if wait := c.last.Add(pause).Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.last = now
	s := c.Cluster.Snapshot()
	again, err := c.finish(ctx, s)
	s = supply.Stock(ctx, c.Cloud, s)
	start := c.Clock.Now()
	d := disrupt.Decide(s, disrupt.Options{}, disrupt.Cursor{})
	c.measure(s, d, c.Clock.Since(start))
	for _, cmd := range d.Commands {
		if cmd.Reason != apiv1.DisruptionReasonEmpty {
			continue
		}
		for _, n := range cmd.Nodes {
			written, markErr := c.Actor.Mark(ctx, n, cmd.Reason, now)
			c.Cluster.Assume(written...)
			err = errors.Join(err, ignoreConflict(markErr))
			again = settle
		}
		c.tellMarked(ctx, cmd)
	}
	c.tellBlocked(s, d)
	return ctrl.Result{RequeueAfter: again}, err
}

// ignoreConflict drops conflicts: somebody else wrote, the watch will show it, and the next pass looks again.
func ignoreConflict(err error) error {
	if err == nil || act.Conflict(err) {
		return nil
	}
	return err
}

// finish deals with the nodes that carry a mark. It returns when to look again.
func (c *Controller) finish(ctx context.Context, s *model.Snapshot) (again time.Duration, err error) {
	again = poll
	for _, n := range s.Nodes() {
		if !n.Managed() || n.Object == nil || n.Deleting {
			continue
		}
		mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason)
		if mark == nil && !n.Disrupted() {
			continue
		}
		wait, stepErr := c.finishOne(ctx, s, n)
		err = errors.Join(err, ignoreConflict(stepErr))
		if wait > 0 {
			again = min(again, wait)
		}
	}
	return again, err
}

// finishOne acts on one mark. A mark that is only half made, or whose reason does not hold any more, is taken back.
func (c *Controller) finishOne(ctx context.Context, s *model.Snapshot, n *model.Node) (wait time.Duration, err error) {
	mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason)
	whole := mark != nil && mark.Reason == string(apiv1.DisruptionReasonEmpty) && n.Disrupted()
	if whole {
		if v := disrupt.StillEmpty(s, n); v.OK() {
			if wait := mark.LastTransitionTime.Add(settle).Sub(s.Now); wait > 0 {
				return wait, nil
			}
			if err := c.Actor.End(ctx, n); err != nil {
				return 0, err
			}
			c.tellEnded(ctx, s, n, apiv1.DisruptionReason(mark.Reason))
			return 0, nil
		}
		c.Metrics.Disruption.FailedValidationsTotal.WithLabelValues(typeEmpty).Inc()
	}
	written, err := c.Actor.Unmark(ctx, n)
	c.Cluster.Assume(written...)
	return 0, err
}
