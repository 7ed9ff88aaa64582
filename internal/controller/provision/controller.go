package provision

import (
	"context"
	"slices"
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
	"github.com/karpenter-go/karpenter/engine/nominate"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/limits"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/observe/inputs"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/tracing"
)

// A Controller launches nodes for pending pods. There is one Controller in a cluster.
type Controller struct {
	Cluster *observe.Cluster
	Actor   *act.Actor
	Cloud   cloud.Provider
	Clock   clock.Clock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	// Timeline records when rounds made decisions for pods.
	Timeline Timeline
	Options  pack.Options
	// Buffers returns the virtual pods of CapacityBuffers; nil means none.
	Buffers *capacitybuffer.Buffers
	// Daemons adds the requests that DaemonSet pods get from LimitRanges. If it is nil, only the pods and templates of DaemonSets
	// are used.
	Daemons *inputs.Daemons
	// Spread returns the default topology spread constraints of kube-scheduler for pods without their own; nil means
	// none.
	Spread *inputs.Spread
	// Mode is the mode of NodePools that set none. In mode DryRun, launches are only reported.
	Mode string
	// Throttle limits launches in the whole cluster; nil sets no limit.
	Throttle *throttle.Throttle
	// Limits has launches that the snapshot of this controller may not contain yet. They count against the limits of
	// NodePools. Nil means none.
	Limits *limits.Ledger
	// Nominations returns where the last nominated pods of a scheduler were bound. Nil means that all schedulers follow
	// nominations.
	Nominations func(scheduler string) nominate.Tally
	// Decisions records the decisions; nil records none. Tracer makes spans of rounds; nil makes none.
	Decisions *decisions.Log
	Tracer    *tracing.Tracer
	// Latest has the refusals of the last plan; nil has none.
	Latest *decisions.Latest
	// Solve makes plans; nil means pack.Solve.
	Solve func(*model.Snapshot, pack.Options) *model.Plan
	// BatchIdle and BatchMax bound the wait for more pods. A round begins BatchIdle after the last new pod, but at most BatchMax
	// after the first new pod. If one of them is not positive, a round begins at once.
	BatchIdle, BatchMax time.Duration

	// looked is the time of the last reconcile. last is the start of the last round.
	looked, last time.Time
	// planned has the node that was last planned for each pending pod. why has, for pods that the last round planned again, the
	// known reasons.
	planned map[types.UID]place
	// told has the node that was last planned for each recent pod, including bound pods.
	told map[types.UID]place
	why  map[types.UID]string
	// launches is the history of the launches for pods, including those whose nodes could not run them.
	launches launchbackoff.State
	types    inputs.LastTypes
	// failing has the pods that recently caused a panic of the solver, by UID.
	failing map[types.UID]failure
	// refusedBefore identifies the refusals that were recorded last, see record.
	refusedBefore string
}

// A Timeline stores times for the metrics of pods; see metrics.Timeline.
type Timeline interface {
	// Decided records that a round, which began at start, made a decision for the pod. placed is true if a node was found or
	// planned for it. pool is the NodePool of that node.
	Decided(p *model.Pod, start, now time.Time, placed bool, pool string)
}

// Intervals of provisioning.
const (
	// leastPause is the least time between two rounds without new pods.
	leastPause = time.Second
	// retry is the interval of rounds for pods without a node if nothing changes.
	retry = 10 * time.Second
	// syncing is the interval of checks whether the first lists from the API server are complete.
	syncing = 100 * time.Millisecond
	// glance is the minimum time between two reconciles. Each pod event triggers one, and thousands of pods may arrive together.
	glance = 100 * time.Millisecond
)

// Name returns the controller's name.
func (c *Controller) Name() string { return "provisioner" }

// Register adds the controller to mgr. The observed cluster triggers it, because a watch could trigger a round before the cluster
// has the event.
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

// Reconcile makes one round, or returns the delay until the next one. If no pods need a node, it only resets metrics.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() || !c.Throttle.Known() {
		return ctrl.Result{RequeueAfter: syncing}, nil
	}
	now := c.Clock.Now()
	c.putBack(now)
	if wait := c.looked.Add(glance).Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.looked = now
	if err := c.Cluster.ReadClaims(ctx); err != nil {
		return ctrl.Result{}, err
	}
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
	began := c.Clock.Now()
	done := c.Metrics.Scheduler.UnfinishedWorkSeconds.Begin(c.Name(), func() time.Duration { return c.Clock.Since(began) })
	defer done()
	ctx, end := c.Tracer.Span(ctx, tracing.Batch, "pods", len(waiting))
	err := c.round(ctx, c.Buffers.Stock(ctx, c.Cluster.Snapshot()))
	end(err)
	return ctrl.Result{RequeueAfter: c.again(s.Now)}, err
}

// putBack forgets the times of the last reconcile and the last round if they are in the future, because the clock has been put back.
// Otherwise there would be no round until then.
func (c *Controller) putBack(now time.Time) {
	if c.looked.After(now) {
		c.looked = time.Time{}
	}
	if c.last.After(now) {
		c.last = time.Time{}
	}
}

// window returns the remaining time of the wait for more pods, zero or less if the round may begin.
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
	case behind && latest.After(last) && latest.After(c.last): // kube-scheduler has not tried these pods; they join the batch
		last = latest
		if first.IsZero() {
			first = oldest
		}
		if first.Before(c.last) {
			first = c.last
		}
	case first.IsZero():
		// No new pods: repeat, but at most once per window, and once per second without a window.
		return c.last.Add(max(min(c.BatchIdle, c.BatchMax), leastPause)).Sub(s.Now)
	}
	return min(last.Add(c.BatchIdle).Sub(s.Now), first.Add(c.BatchMax).Sub(s.Now))
}

// round makes a plan, checks it, and executes it.
func (c *Controller) round(ctx context.Context, s *model.Snapshot) error {
	s = c.Daemons.WithRequests(ctx, inputs.WithInstanceTypes(ctx, c.Clock, c.Cloud, &c.types, s))
	c.measureZones(s, c.zoneDefaults(ctx))
	plan, waits, proposed := c.planWithModes(ctx, s)
	c.Latest.Plan(plan.Refusals)
	held, unapproved := c.holdBack(s, plan)
	held = append(proposed, held...)
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
	limit := c.Throttle.Why(throttle.Launch)
	c.tell(ctx, s, plan, launches, waits, slices.Concat(decisions.Withheld(held, "mode DryRun"),
		decisions.Withheld(unapproved, "mode Approve: waiting for approval"), decisions.Withheld(slowed, limit)))
	c.tellIgnored(s, launches)
	c.tellWithheld(ctx, held, "mode DryRun", "Mode DryRun: would launch %s")
	c.tellUnapproved(ctx, s, launches, unapproved)
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

// launch creates the plan's claims, and records the pods for which each claim is launched.
func (c *Controller) launch(ctx context.Context, plan *model.Plan, now time.Time) ([]act.Launch, error) {
	defer c.Cluster.Launching()()
	spanCtx, end := c.Tracer.Span(ctx, tracing.Launch, "nodes", len(plan.Nodes))
	launches, err := c.Actor.Launch(spanCtx, plan)
	end(err)
	made := make([]launchbackoff.Launch, 0, len(launches))
	for _, l := range launches {
		c.Cluster.Assume(l.Claim)
		c.promise(l.Claim.Name, l.Node.Pods, now)
		made = append(made, launchbackoff.Launch{Claim: l.Claim.Name, Pool: l.Node.Pool, Pods: l.Node.Pods})
	}
	c.launches = launchbackoff.Launched(c.launches, made...)
	return launches, err
}
