// Package steer keeps pods nominated to the nodes that they were planned for (docs/scheduling.md, Steering).
package steer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/steer"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Controller steers. There is one for the cluster.
type Controller struct {
	Cluster   *observe.Cluster
	Nominator *act.Nominator
	Clock     clock.Clock
	Metrics   *telemetry.SchedulerMetrics
	// On nominates pods; off takes away what was nominated before.
	On bool

	// last is when the last pass began; busy is set if it wrote something.
	last time.Time
	busy bool
	// joining are the names of nodes, by claim, that Join was asked for and that were not seen open since.
	joining sync.Map
	company company
	// forbidden is set for good once the API server has refused.
	forbidden atomic.Bool
}

// Intervals of steering.
const (
	// pause is the least time between two passes, and haste while there is something to write: a pod whose nomination the scheduler
	// has erased may lose its room before it has another.
	pause = 500 * time.Millisecond
	haste = 100 * time.Millisecond
	// again is how often to look while pods wait: nodes go without waking anybody.
	again = 10 * time.Second
	// syncing is how often to ask whether the first lists are in.
	syncing = 100 * time.Millisecond
	// portion is how many nominations a pass writes before the next looks again: while the scheduler is at work, pods get their
	// nodes faster than nominations are written.
	portion = 100
)

// Name returns the controller's name.
func (c *Controller) Name() string { return "steering" }

// Register adds the controller to mgr. Pods that wait and plans for them wake it.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		WatchesRawSource(source.Func(
			func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
				wake := func() { queue.Add(singleton.Request()) }
				c.Cluster.OnWork(wake)
				c.Cluster.OnPromise(wake)
				return nil
			})).
		Complete(c)
}

// Reconcile brings all nominations up to date. What could not be written is tried in the next pass.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if c.forbidden.Load() {
		return ctrl.Result{}, nil
	}
	if !c.Cluster.Synced() {
		return ctrl.Result{RequeueAfter: syncing}, nil
	}
	now, least := c.Clock.Now(), pause
	if c.busy {
		least = haste
	}
	if wait := c.last.Add(least).Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.last = now
	s := c.Cluster.Snapshot()
	changes := steer.Next(s, c.On, c.stillJoining(s))
	wrote := c.write(ctx, changes[:min(len(changes), portion)])
	c.busy = wrote > 0
	switch {
	case len(changes) > portion && wrote > 0:
		c.last = time.Time{}
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil
	case len(s.Pending()) == 0:
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// stillJoining returns the nodes that were about to be opened and are not open yet, by claim, and forgets the others. s may be
// too old to show one that joins just now.
func (c *Controller) stillJoining(s *model.Snapshot) map[string]string {
	still := map[string]string{}
	c.joining.Range(func(claim, node any) bool {
		switch n, ok := s.NodeByName(claim.(string)); {
		case ok && !n.Registered, !ok && c.company.has(claim.(string)):
			still[claim.(string)] = node.(string)
		default:
			c.joining.Delete(claim)
		}
		return true
	})
	return still
}

// write carries changes out and counts them. It returns how many it could write.
func (c *Controller) write(ctx context.Context, changes []steer.Nomination) int {
	if len(changes) == 0 {
		return 0
	}
	pods, err := c.Nominator.Nominate(ctx, changes)
	for _, p := range pods {
		c.Cluster.Assume(p)
		action := telemetry.NominationWritten
		if p.Status.NominatedNodeName == "" {
			action = telemetry.NominationCleared
		}
		c.Metrics.NominationsTotal.WithLabelValues(action).Inc()
	}
	switch log := ctrl.LoggerFrom(ctx); {
	case apierrors.IsForbidden(err):
		if !c.forbidden.Swap(true) {
			log.Info("going on without steering: pods/status may not be patched", "error", err.Error())
		}
	case err != nil:
		log.V(1).Info("some nominations were not written", "error", err.Error())
	}
	return len(pods)
}
