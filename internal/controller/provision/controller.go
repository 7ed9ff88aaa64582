package provision

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/launchbackoff"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/limits"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/observe/inputs"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Controller provisions. There is one for the cluster.
type Controller struct {
	Cluster *observe.Cluster
	Actor   *act.Actor
	Cloud   cloud.Provider
	Clock   clock.Clock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	// Timeline records when pods were seen and decided about.
	Timeline Timeline
	Options  pack.Options
	// Buffers returns the virtual pods of CapacityBuffers; nil means none.
	Buffers *capacitybuffer.Buffers
	// Daemons completes the requests of DaemonSets by LimitRanges. If nil, they come from pods and templates alone.
	Daemons *inputs.Daemons
	// Spread returns the constraints that the scheduler gives to pods without any; nil means none.
	Spread *inputs.Spread
	// Mode is that of pools without a mode of their own. In DryRun launches are reported and not made.
	Mode string
	// Throttle limits launches in the whole cluster; nil sets no limit.
	Throttle *throttle.Throttle
	// Limits has the launches that snapshots do not show yet; nil means none.
	Limits *limits.Ledger
	// Solve makes plans; nil means pack.Solve.
	Solve func(*model.Snapshot, pack.Options) *model.Plan
	// BatchIdle and BatchMax bound the wait for more pods.
	BatchIdle, BatchMax time.Duration

	// looked is when the last reconcile was, last when the last round began.
	looked, last time.Time
	// planned is where the last rounds planned each pending pod. why is why the last round planned some of them again, if known.
	planned map[types.UID]place
	// told is where all recent pods were planned, including those that are bound by now.
	told map[types.UID]place
	why  map[types.UID]string
	// launches is the history of the launches for pods, including those whose nodes could not run them.
	launches launchbackoff.State
	types    inputs.LastTypes
	// failing are the pods for which planning failed lately, by UID.
	failing map[types.UID]failure
}

// A Timeline keeps the times for the pod metrics.
type Timeline interface {
	// Decided records that a round that began at start decided about the pod, and whether it was placed, on a node of the pool.
	Decided(p *model.Pod, start, now time.Time, placed bool, pool string)
}

// Intervals of provisioning.
const (
	// retry is how soon refused pods are planned for again if nothing changes.
	retry = 10 * time.Second
	// syncing is how often to check whether the first lists are complete.
	syncing = 100 * time.Millisecond
	// glance is the least time between two reconciles: each pod event triggers one, and pods may come by the thousand.
	glance = 100 * time.Millisecond
)

// Name returns the controller's name.
func (c *Controller) Name() string { return "provisioner" }

// Register adds the controller to mgr. The observed cluster triggers it, instead of own watches, so that the cluster always has
// the event that triggered a reconcile.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		WatchesRawSource(source.Func(
			func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
				c.Cluster.OnWork(func() { queue.Add(singleton.Request()) })
				return nil
			})).
		Complete(c)
}

// Reconcile makes one round, or says when it is time for one.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() || !c.Throttle.Known() {
		return ctrl.Result{RequeueAfter: syncing}, nil
	}
	now := c.Clock.Now()
	if wait := c.looked.Add(glance).Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.looked = now
	c.Cluster.ConfirmOrLog(ctx)
	s := c.Cluster.Snapshot()
	waiting := s.Pending()
	c.Metrics.Scheduler.QueueDepth.WithLabelValues(c.Name(), "").Set(float64(len(waiting)))
	s = c.Buffers.Stock(ctx, s)
	c.launches = launchbackoff.Observe(c.launches, s)
	if waiting = s.Pending(); len(waiting) == 0 && len(s.Displaced()) == 0 {
		c.settle()
		return ctrl.Result{}, nil
	}
	if wait := c.window(s, waiting); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.last = s.Now
	c.Cluster.Foretell()
	c.Limits.Begin(c.Name())
	err := c.round(ctx, c.Buffers.Stock(ctx, c.Cluster.Snapshot()))
	return ctrl.Result{RequeueAfter: c.again(s.Now)}, err
}

// window returns how long to wait for more pods than those that wait.
func (c *Controller) window(s *model.Snapshot, waiting []*model.Pod) time.Duration {
	var first, last time.Time
	for _, p := range waiting {
		since := c.Cluster.WaitingSince(p)
		if !since.After(c.last) {
			continue
		}
		if first.IsZero() || since.Before(first) {
			first = since
		}
		if since.After(last) {
			last = since
		}
	}
	switch oldest, latest, behind := c.Cluster.Backlog(); {
	case behind && latest.After(last) && latest.After(c.last): // these will wait as well
		last = latest
		if first.IsZero() {
			first = oldest
		}
		if first.Before(c.last) {
			first = c.last
		}
	case first.IsZero():
		return c.last.Add(c.BatchIdle).Sub(s.Now) // nothing new: look again, but not in a frenzy
	}
	return min(last.Add(c.BatchIdle).Sub(s.Now), first.Add(c.BatchMax).Sub(s.Now))
}

// round plans, checks the plan, and carries it out.
func (c *Controller) round(ctx context.Context, s *model.Snapshot) error {
	s = c.Daemons.WithRequests(ctx, inputs.WithInstanceTypes(ctx, c.Clock, c.Cloud, &c.types, s))
	c.measureZones(s)
	plan, waits := c.planWithPauses(ctx, s)
	held, unapproved := c.holdBack(s, plan)
	slowed := c.slow(plan, s.Now)
	done := c.withinLimits(ctx, s, plan)
	launches, err := c.launch(ctx, plan, s.Now)
	done()
	c.Throttle.Done(throttle.Launch, len(launches), s.Now)
	for _, p := range plan.Placements {
		c.promise(p.Node.Name, p.Pods, s.Now)
	}
	c.breakPromises(s, plan)
	c.countReplanned(s, plan, launches)
	c.countPrices(launches)
	c.tell(ctx, s, plan, launches, waits)
	c.tellWithheld(ctx, held, "mode DryRun", "Mode DryRun: would launch %s")
	c.tellUnapproved(ctx, s, launches, unapproved)
	limit := c.Throttle.Why(throttle.Launch)
	c.tellWithheld(ctx, slowed, limit, "Not launched, "+limit+": %s")
	return err
}

// countPrices counts the prices of new nodes by the namespaces of the pods they are launched for.
func (c *Controller) countPrices(launches []act.Launch) {
	for _, l := range launches {
		for _, p := range l.Node.Pods {
			share := l.Node.Price() / float64(len(l.Node.Pods))
			c.Metrics.Scheduler.LaunchedDollarsPerHourTotal.WithLabelValues(p.Object.Namespace).Add(share)
		}
	}
}

// launch creates the plan's claims, and promises them to their pods.
func (c *Controller) launch(ctx context.Context, plan *model.Plan, now time.Time) ([]act.Launch, error) {
	defer c.Cluster.Launching()()
	launches, err := c.Actor.Launch(ctx, plan)
	made := make([]launchbackoff.Launch, 0, len(launches))
	for _, l := range launches {
		c.Cluster.Assume(l.Claim)
		c.promise(l.Claim.Name, l.Node.Pods, now)
		made = append(made, launchbackoff.Launch{Claim: l.Claim.Name, Pool: l.Node.Pool, Pods: l.Node.Pods})
	}
	c.launches = launchbackoff.Launched(c.launches, made...)
	return launches, err
}
