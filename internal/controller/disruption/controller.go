package disruption

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/capacitybuffer"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/limits"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/observe/inputs"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/tracing"
)

// A Controller disrupts nodes. There is one Controller in a cluster.
type Controller struct {
	Cluster *observe.Cluster
	Actor   *act.Actor
	Cloud   cloud.Provider
	Clock   clock.Clock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	Options disrupt.Options
	// Buffers has the virtual pods of CapacityBuffers. A node whose capacity they use is not empty. Nil means no virtual pods.
	Buffers *capacitybuffer.Buffers
	// Daemons adds the requests that DaemonSet pods get from LimitRanges. If it is nil, only the pods and templates of DaemonSets
	// are used.
	Daemons *inputs.Daemons
	// Spread returns the default topology spread constraints of kube-scheduler for pods without their own; nil means
	// none.
	Spread *inputs.Spread
	// ShiftedZones is the method of cloud.Shifter; nil if the provider does not implement it.
	ShiftedZones func(context.Context) []string
	// Throttle has the limits and pauses for the whole cluster; nil if there are none.
	Throttle *throttle.Throttle
	// PricesCurrent reports whether prices are recent enough for consolidation; nil means always.
	PricesCurrent func() bool
	// Limits has launches that the snapshot of this controller may not contain yet. They count against the limits of
	// NodePools. Nil means none.
	Limits *limits.Ledger
	// Costs receives every decision; nil means none.
	Costs *ledger.Ledger
	// Latest has the last decision; nil has none.
	Latest *decisions.Latest
	// Decisions records the decisions; nil records none. Tracer makes spans of decisions and commands; nil makes none.
	Decisions *decisions.Log
	Tracer    *tracing.Tracer

	state
}

// state is kept in memory only. If it is lost, backoffs start again at their minimum, consolidationTypeOf infers consolidation
// types, and the next passes compute the rest again.
type state struct {
	history            inputHistory         // of the decisions, by which passes are omitted
	notBefore          time.Time            // when the next pass may begin
	cursor             disrupt.Cursor       // returned by the last decision
	types              inputs.LastTypes     // instance types of the last snapshot
	placementsRestored bool                 // whether restorePlacements was called
	rolledBack         bool                 // whether this pass removed the marks from a node
	heldBack           int                  // replacements that the throttle did not allow in this pass
	backoffs           map[string]backoff   // by the name of the node
	healthNoted        time.Time            // when noteHealth last looked at the nodes
	consolidationTypes map[types.UID]string // of marked nodes, by the UID of the claim
	poolsWithGauges    map[string]bool      // names of the NodePools whose gauges are set
	unpriced           map[string]bool      // names of the nodes without a known price at the last decision
	invalidCosts       map[types.UID]string // invalid disruption costs that were logged, by the UID of the pod
}

// Name returns the controller's name.
func (c *Controller) Name() string { return "disruption" }

// Register adds the controller to mgr. Changes of the cluster's capacity trigger it through the callback
// Cluster.OnCapacity. A watch could trigger a pass before the Cluster has the change.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		WatchesRawSource(source.Func(c.watch)).
		Complete(c)
}

// watch makes each change of the cluster's capacity trigger a pass.
func (c *Controller) watch(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.Cluster.OnCapacity(func() { queue.Add(singleton.Request()) })
	return nil
}

// Reconcile makes one pass, unless it is too early or the pass is omitted. It does not wait: a disruption whose replacements are
// not ready is completed in a later pass.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() || !c.Throttle.Known() {
		return ctrl.Result{RequeueAfter: observe.SyncPoll}, nil
	}
	start := c.Clock.Now()
	if wait := c.notBefore.Sub(start); wait > 0 && wait <= maxInterval { // a longer wait means that the clock was put back
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if err := c.Cluster.ReadClaims(ctx); err != nil {
		return ctrl.Result{}, err
	}
	c.Cluster.ConfirmOrLog(ctx)
	c.history.recordCluster(c.Cluster.Version(), c.Throttle.Limits(), start)
	if c.history.omitsPass(start) {
		return ctrl.Result{RequeueAfter: poll}, nil
	}
	return c.runPass(ctx, start)
}

// runPass first completes or rolls back the disruptions that earlier passes began. Then it makes a decision and carries it out.
func (c *Controller) runPass(ctx context.Context, start time.Time) (ctrl.Result, error) {
	c.rolledBack = false
	c.Limits.Begin(c.Name())
	s := c.readSnapshot(ctx)
	c.history.recordTypes(c.types.Changes())
	cursor := c.cursor
	if c.history.sameInputs(s) {
		cursor = cursor.Unchanged()
	}
	c.Options.Pack.DefaultSpread = c.Spread.Of(ctx)
	s = c.restorePlacements(ctx, s)
	c.dropConsolidationTypes(s)
	c.noteHealth(ctx, s)
	requeueAfter, err := c.finish(ctx, s)
	d := c.decide(ctx, s, cursor, start)
	idle := err == nil && requeueAfter == poll && d.Cursor.Same(c.cursor) && len(d.Commands)+len(d.Launches)+len(d.Surplus) == 0
	c.cursor = d.Cursor
	err = errors.Join(err, c.carryOut(ctx, s, d))
	if c.rolledBack {
		requeueAfter = min(requeueAfter, minInterval)
	} else {
		err = errors.Join(err, c.endSurplus(ctx))
	}
	if len(d.Commands) > 0 {
		requeueAfter = min(requeueAfter, deletionDelay)
	}
	c.tellBlocked(s, d)
	c.tellInvalidCosts(ctx, s)
	c.history.recordPass(start, idle && err == nil && !c.rolledBack)
	now := c.Clock.Now()
	c.notBefore = now.Add(intervalAfter(now.Sub(start), len(d.Commands)))
	return ctrl.Result{RequeueAfter: requeueAfter}, err
}

// readSnapshot returns a snapshot of the cluster with all inputs of the decision: instance types, requests of DaemonSets and
// virtual pods.
func (c *Controller) readSnapshot(ctx context.Context) *model.Snapshot {
	return c.Buffers.Stock(ctx, c.Daemons.WithRequests(ctx, inputs.WithInstanceTypes(ctx, c.Clock, c.Cloud, &c.types, c.Cluster.Snapshot())))
}

// decide returns the decision of engine/disrupt about s. It sets the metrics of the decision and publishes it to Latest and Costs.
// Until it ends, a metric has its age, so that a decision that never ends is noticed.
func (c *Controller) decide(ctx context.Context, s *model.Snapshot, cursor disrupt.Cursor, start time.Time) disrupt.Decision {
	c.dropOldBackoffs(start)
	options := c.options(ctx, start)
	began := c.Clock.Now()
	defer c.Metrics.Scheduler.UnfinishedWorkSeconds.Begin(c.Name(), func() time.Duration { return c.Clock.Since(began) })()
	_, end := c.Tracer.Span(ctx, tracing.Decide, "nodes", len(s.Nodes()))
	d := disrupt.Decide(s, options, cursor)
	end(nil)
	c.measure(ctx, s, d, c.Clock.Since(began))
	c.Latest.Disruption(decisions.Outcome{Blocked: d.Blocked, Commands: d.Commands, Proposed: d.Proposed, Headroom: d.Stats.Headroom})
	c.Costs.Observe(s, ledger.Decision{Blocked: d.Blocked, Commands: d.Commands, Headroom: d.Stats.Headroom})
	return d
}

// options returns the options of disrupt.Decide for a pass that started at the time now.
func (c *Controller) options(ctx context.Context, now time.Time) disrupt.Options {
	o := c.Options
	o.Backoff = c.activeBackoffs(now)
	o.OldPrices = c.PricesCurrent != nil && !c.PricesCurrent()
	o.Paused = o.Paused || c.Throttle.Limits().PauseDisruption
	if left, bounded := c.Throttle.Left(throttle.Disrupt, now); bounded {
		o.MaxNodes = left
		if left == 0 {
			o.MaxNodes = -1 // 0 means no bound
		}
	}
	if c.ShiftedZones != nil {
		o.ShiftedZones = c.ShiftedZones(ctx)
	}
	return o
}

// carryOut begins the commands of the decision, launches nodes of static NodePools and deletes their surplus nodes. A command
// that violates a rule of package verify is a bug of Karpenter. It is logged and not executed.
func (c *Controller) carryOut(ctx context.Context, s *model.Snapshot, d disrupt.Decision) error {
	var errs []error
	c.heldBack = 0
	for _, cmd := range c.verifiedCommands(ctx, s, d) {
		errs = append(errs, c.begin(ctx, s, &cmd, d.Blocked))
	}
	c.Metrics.Throttle.HeldBack.WithLabelValues("replacements").Set(float64(c.heldBack))
	for _, cmd := range d.Proposed {
		c.tellProposed(s, cmd)
	}
	errs = append(errs, c.launchStatic(ctx, s, d.Launches))
	c.tellShortfalls(d.Short)
	return errors.Join(append(errs, c.deleteStatic(ctx, s, d.Surplus))...)
}

// verifiedCommands returns the commands that verify finds valid, in their order, each together with those before it. It logs the
// others.
func (c *Controller) verifiedCommands(ctx context.Context, s *model.Snapshot, d disrupt.Decision) []model.Command {
	rules := verify.Rules{Labels: c.Options.Pack.Labels, DefaultSpread: c.Options.Pack.DefaultSpread}
	if len(d.Commands) == 0 {
		return nil
	}
	_, end := c.Tracer.Span(ctx, tracing.Verify, "commands", len(d.Commands))
	defer end(nil)
	if len(rules.Commands(s, d.Expected, d.Commands)) == 0 {
		return d.Commands
	}
	var valid []model.Command
	for _, cmd := range d.Commands {
		with := append(valid[:len(valid):len(valid)], cmd)
		violations := rules.Commands(s, d.Expected, with)
		if len(violations) == 0 {
			valid = with
			continue
		}
		ctrl.LoggerFrom(ctx).Error(errors.New(violations[0].String()), "internal error: command failed verification, not executed",
			"command", cmd.String())
	}
	return valid
}

// ignoreConflict removes from err conflicts and errors about objects that do not exist. The watch delivers the change that
// caused them before a later pass.
func ignoreConflict(err error) error {
	var all interface{ Unwrap() []error }
	if errors.As(err, &all) {
		var kept []error
		for _, e := range all.Unwrap() {
			kept = append(kept, ignoreConflict(e))
		}
		return errors.Join(kept...)
	}
	if err == nil || act.Conflict(err) {
		return nil
	}
	return err
}
