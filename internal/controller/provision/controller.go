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

// A Controller launches nodes for pending pods. There is one for the cluster.
type Controller struct {
	Cluster *observe.Cluster
	Actor   *act.Actor
	Cloud   cloud.Provider
	Clock   clock.Clock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	// Timeline records the times at which a pod was first seen and first handled in a round.
	Timeline Timeline
	Options  pack.Options
	// Buffers returns the virtual pods of CapacityBuffers; nil means none.
	Buffers *capacitybuffer.Buffers
	// Daemons adds defaults from LimitRanges to the requests of DaemonSets' pods. If nil, only their pods and templates
	// are used.
	Daemons *inputs.Daemons
	// Spread returns the default topology spread constraints of kube-scheduler for pods without their own; nil means
	// none.
	Spread *inputs.Spread
	// Mode is the mode of NodePools that set none. In mode DryRun, launches are only reported.
	Mode string
	// Throttle limits launches in the whole cluster; nil sets no limit.
	Throttle *throttle.Throttle
	// Limits has the launches that are not in snapshots yet, for the limits of NodePools; nil means none.
	Limits *limits.Ledger
	// Nominations returns where the nominated pods of a scheduler were bound; nil means that all schedulers follow nominations.
	Nominations func(scheduler string) nominate.Tally
	// Decisions records the decisions; nil records none. Tracer makes spans of rounds; nil makes none.
	Decisions *decisions.Log
	Tracer    *tracing.Tracer
	// Latest has the refusals of the last plan; nil has none.
	Latest *decisions.Latest
	// Solve makes plans; nil means pack.Solve.
	Solve func(*model.Snapshot, pack.Options) *model.Plan
	// BatchIdle and BatchMax limit the wait for more pods: a round begins BatchIdle after the last new pod, but at most
	// BatchMax after the first.
	BatchIdle, BatchMax time.Duration

	// looked is the time of the last reconcile, last the start of the last round.
	looked, last time.Time
	// planned is the node that was last planned for each pending pod. why is the reason why the last round planned some
	// of them again, if known.
	planned map[types.UID]place
	// told is the node that was last planned for each recent pod, including bound pods.
	told map[types.UID]place
	why  map[types.UID]string
	// launches is the history of the launches for pods, including those whose nodes could not run them.
	launches launchbackoff.State
	types    inputs.LastTypes
	// failing are the pods that recently caused a panic of the solver, by UID.
	failing map[types.UID]failure
	// refusedBefore identifies the refusals that were recorded last, see record.
	refusedBefore string
}

// A Timeline stores times for the metrics of pods; see metrics.Timeline.
type Timeline interface {
	// Decided records that a round, which began at start, handled the pod. placed is true if a node of the NodePool was
	// found or planned for it.
	Decided(p *model.Pod, start, now time.Time, placed bool, pool string)
}

// Intervals of provisioning.
const (
	// retry is the interval of rounds for pods without a node if nothing changes.
	retry = 10 * time.Second
	// syncing is the interval of checks whether the first lists from the API server are complete.
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

// Reconcile makes one round, or returns the delay until the next one.
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
	ctx, end := c.Tracer.Span(ctx, tracing.Batch, "pods", len(waiting))
	err := c.round(ctx, c.Buffers.Stock(ctx, c.Cluster.Snapshot()))
	end(err)
	return ctrl.Result{RequeueAfter: c.again(s.Now)}, err
}

// window returns the remaining wait for more pods.
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
		return c.last.Add(c.BatchIdle).Sub(s.Now) // no new pods: repeat, but at most once per BatchIdle
	}
	return min(last.Add(c.BatchIdle).Sub(s.Now), first.Add(c.BatchMax).Sub(s.Now))
}

// round makes a plan, checks it, and executes it.
func (c *Controller) round(ctx context.Context, s *model.Snapshot) error {
	s = c.Daemons.WithRequests(ctx, inputs.WithInstanceTypes(ctx, c.Clock, c.Cloud, &c.types, s))
	c.measureZones(s)
	plan, waits := c.planWithPauses(ctx, s)
	c.Latest.Plan(plan.Refusals)
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

// launch creates the plan's claims, and records for which pods they are.
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
