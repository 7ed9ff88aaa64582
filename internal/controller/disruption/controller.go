package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
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

// state is kept in memory only. If it is lost, backoffs start again at their minimum, typeOf infers consolidation types,
// and the next passes compute the rest again.
type state struct {
	next   time.Time // when the next pass may begin
	cursor disrupt.Cursor
	// reassigned is true when the destinations of pods on marked nodes have been recomputed after the start. rolledBack is true
	// if this pass removed the marks from a node.
	reassigned, rolledBack bool
	heldBack               int // replacements that the throttle did not allow in this pass
	backoff                map[string]backoff
	types                  inputs.LastTypes
	rest                   rest
	healthNoted            time.Time            // when noteHealth last looked at the nodes
	measured               map[string]bool      // NodePools that have gauges
	unpriced               map[string]bool      // names of the nodes without a known price at the last decision
	consolidationTypes     map[types.UID]string // consolidation types of marked nodes, by the UID of the claim
	invalidCosts           map[types.UID]string // invalid disruption costs that were logged, by the UID of the pod
}

// Intervals of disruption.
const (
	// poll is the interval between passes if the cluster does not change. Budgets may change with the time of day.
	poll = 10 * time.Second
	// pause is the minimum time between two passes. After a pass without commands, the minimum is four times the duration of the
	// pass, if that is longer, but at most mostRest.
	pause    = time.Second
	mostRest = 5 * time.Minute
	// settle is the time between marking and deleting a node. During this time the watch delivers pods that were bound just
	// before the mark.
	settle = 2 * time.Second
	// patience is the maximum time that a marked node waits for its replacements to be initialized, as in upstream.
	patience = 10 * time.Minute
	// promised is the minimum time for which the destination nodes reserve capacity for the pods of disrupted nodes.
	promised = time.Hour
)

// reasonStaticScaleIn is the reason for deleting nodes of a static NodePool that has more nodes than replicas.
const reasonStaticScaleIn apiv1.DisruptionReason = telemetry.DisruptedStaticScaleIn

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

// Reconcile makes one pass. First it completes or rolls back earlier disruptions. Then it begins new ones. It does not wait: a
// disruption whose replacements are not ready is completed in a later pass.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() || !c.Throttle.Known() {
		return ctrl.Result{RequeueAfter: observe.SyncPoll}, nil
	}
	start := c.Clock.Now()
	if wait := c.next.Sub(start); wait > 0 && wait <= mostRest { // a longer wait means that the clock was put back
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if err := c.Cluster.ReadClaims(ctx); err != nil {
		return ctrl.Result{}, err
	}
	c.Cluster.ConfirmOrLog(ctx)
	if c.rests(start) {
		return ctrl.Result{RequeueAfter: poll}, nil
	}
	c.Limits.Begin(c.Name())
	s := c.look(ctx)
	cursor := c.cursorIn(s)
	c.Options.Pack.DefaultSpread = c.Spread.Of(ctx)
	s = c.reassign(ctx, s)
	c.rolledBack = false
	c.forgetTypes(s)
	c.noteHealth(ctx, s)
	again, err := c.finish(ctx, s)
	options := c.options(start)
	if c.ShiftedZones != nil {
		options.ShiftedZones = c.ShiftedZones(ctx)
	}
	began := c.Clock.Now()
	_, end := c.Tracer.Span(ctx, tracing.Decide, "nodes", len(s.Nodes()))
	d := disrupt.Decide(s, options, cursor)
	end(nil)
	quiet := err == nil && again == poll && d.Cursor.Same(c.cursor) && len(d.Commands)+len(d.Launches)+len(d.Surplus) == 0
	c.cursor = d.Cursor
	c.measure(ctx, s, d, c.Clock.Since(began))
	c.Latest.Disruption(decisions.Outcome{Blocked: d.Blocked, Commands: d.Commands, Proposed: d.Proposed, Headroom: d.Stats.Headroom})
	c.Costs.Observe(s, ledger.Decision{Blocked: d.Blocked, Commands: d.Commands, Headroom: d.Stats.Headroom})
	if carryErr := c.carryOut(ctx, s, d); carryErr != nil {
		err = errors.Join(err, carryErr)
	}
	if c.rolledBack {
		again = min(again, pause)
	} else {
		err = errors.Join(err, c.endSurplus(ctx))
	}
	if len(d.Commands) > 0 {
		again = min(again, settle)
	}
	c.tellBlocked(s, d)
	c.tellInvalidCosts(ctx, s)
	c.rest.noted(quiet && err == nil && !c.rolledBack, start)
	now := c.Clock.Now()
	rest := min(max(pause, 4*now.Sub(start)), mostRest)
	if len(d.Commands) > 0 {
		rest = pause
	}
	c.next = now.Add(rest)
	return ctrl.Result{RequeueAfter: again}, err
}

// look returns a snapshot of the cluster with all inputs of the decision: instance types, requests of DaemonSets and virtual
// pods.
func (c *Controller) look(ctx context.Context) *model.Snapshot {
	return c.Buffers.Stock(ctx, c.Daemons.WithRequests(ctx, inputs.WithInstanceTypes(ctx, c.Clock, c.Cloud, &c.types, c.Cluster.Snapshot())))
}

// options returns the options of disrupt.Decide for this pass.
func (c *Controller) options(now time.Time) disrupt.Options {
	o := c.Options
	o.Backoff = c.backoffs(now)
	o.OldPrices = c.PricesCurrent != nil && !c.PricesCurrent()
	o.Paused = o.Paused || c.Throttle.Limits().PauseDisruption
	if left, bounded := c.Throttle.Left(throttle.Disrupt, now); bounded {
		o.MaxNodes = left
		if left == 0 {
			o.MaxNodes = -1
		}
	}
	return o
}

// carryOut begins the commands of the decision, launches nodes of static NodePools and deletes their surplus nodes. A command
// that violates a rule of package verify is a bug of Karpenter. It is logged and not executed.
func (c *Controller) carryOut(ctx context.Context, s *model.Snapshot, d disrupt.Decision) error {
	var errs []error
	c.heldBack = 0
	for _, cmd := range c.checked(ctx, s, d) {
		errs = append(errs, c.begin(ctx, s, &cmd, d.Blocked))
	}
	c.Metrics.Throttle.HeldBack.WithLabelValues("replacements").Set(float64(c.heldBack))
	for _, cmd := range d.Proposed {
		c.tellProposed(s, cmd)
	}
	errs = append(errs, c.launchStatic(ctx, s, d.Launches))
	c.tellShort(d.Short)
	for _, n := range d.Surplus {
		if err := c.Actor.End(ctx, n); err != nil {
			errs = append(errs, err)
			continue
		}
		c.tellEnded(ctx, s, n, reasonStaticScaleIn)
		c.recordSurplus(ctx, s, n)
	}
	return errors.Join(errs...)
}

// checked returns the commands that verify finds valid, in their order, each together with those before it.
func (c *Controller) checked(ctx context.Context, s *model.Snapshot, d disrupt.Decision) []model.Command {
	rules := verify.Rules{Labels: c.Options.Pack.Labels, DefaultSpread: c.Options.Pack.DefaultSpread}
	if len(d.Commands) == 0 {
		return nil
	}
	_, end := c.Tracer.Span(ctx, tracing.Verify, "commands", len(d.Commands))
	defer end(nil)
	if len(rules.Commands(s, d.Expected, d.Commands)) == 0 {
		return d.Commands
	}
	var sound []model.Command
	for _, cmd := range d.Commands {
		with := append(sound[:len(sound):len(sound)], cmd)
		violations := rules.Commands(s, d.Expected, with)
		if len(violations) == 0 {
			sound = with
			continue
		}
		ctrl.LoggerFrom(ctx).Error(errors.New(violations[0].String()), "internal error: command failed verification, not executed",
			"command", cmd.String())
	}
	return sound
}

// begin starts one command, if the throttle and the limits of NodePools allow it. It calls force for a command with Force,
// and reboot for a reboot. Otherwise it first marks the nodes with the names of their replacements, then it creates these
// claims. If a node of a command with replacements cannot be marked, no claims are created, and the next pass removes the marks of
// the others. A command without replacements begins with the nodes that could be marked. If no node can be marked, nothing is
// begun and nothing is recorded. Nodes that cannot be marked get a backoff. After a crash between the two steps, marked nodes
// wait for claims that do not exist. The next pass then removes the marks, and claims that were created become surplus.
// blocked has the nodes that the same decision keeps.
func (c *Controller) begin(ctx context.Context, s *model.Snapshot, cmd *model.Command, blocked []model.Blocked) (err error) {
	ctx, end := c.Tracer.Span(ctx, tracing.Command, "reason", string(cmd.Reason), "action", cmd.Decision(), "nodes", len(cmd.Nodes),
		"replacements", len(cmd.Replacements))
	defer func() { end(err) }()
	now := c.Clock.Now()
	switch {
	case cmd.Force:
		c.record(ctx, s, cmd, nil, blocked)
		return c.force(ctx, cmd, now)
	case cmd.Reboots():
		return c.reboot(ctx, s, cmd, now)
	}
	if !c.Throttle.Allows(throttle.Replace, len(cmd.Replacements), now) {
		c.heldBack += len(cmd.Replacements)
		why := c.Throttle.Why(throttle.Replace)
		c.tellWithheld(*cmd, why, fmt.Sprintf("Not disrupted, %s: %s", why, cmd))
		return nil // the next pass makes a new decision
	}
	done, within := c.withinLimits(ctx, s, cmd)
	defer done()
	if !within {
		return nil // the next pass decides again
	}
	drafts := c.Actor.Draft(cmd)
	waitFor := namesToAwait(cmd, drafts)
	written, err := c.Actor.MarkAll(ctx, cmd, waitFor, now)
	c.Cluster.Assume(written...)
	unmarked := slices.DeleteFunc(slices.Clone(cmd.Nodes), func(n *model.Node) bool { return hasNode(written, n) })
	for _, n := range unmarked {
		c.backOff(n) // so that it does not use up budgets and limits in each pass
	}
	if err != nil && (len(drafts) > 0 || len(unmarked) == len(cmd.Nodes)) {
		ctrl.LoggerFrom(ctx).Info("failed to taint node, disruption command dropped",
			"command", cmd.Decision(), "error", err.Error())
		return ignoreConflict(err)
	}
	if launchErr := c.launch(ctx, cmd, drafts, now); launchErr != nil {
		return launchErr
	}
	for _, p := range cmd.Placements {
		c.Cluster.Promise(p.Node.Name, p.Pods, now.Add(promised))
	}
	c.Throttle.Done(throttle.Replace, len(drafts), now)
	if !status.Forced(cmd.Reason) {
		c.Throttle.Done(throttle.Disrupt, len(cmd.Nodes), now)
	}
	if cmd.Repair != nil {
		c.tellSelected(ctx, cmd)
	}
	c.tellMarked(ctx, s, cmd)
	c.record(ctx, s, cmd, drafts, blocked)
	return ignoreConflict(err)
}

// namesToAwait returns the names of the claims whose nodes must be initialized before those of the command are deleted: its
// replacements, and nodes of its placements that are still being launched.
func namesToAwait(cmd *model.Command, drafts []act.Launch) []string {
	names := make([]string, len(drafts))
	for i, d := range drafts {
		names[i] = d.Claim.Name
	}
	for _, p := range cmd.Placements {
		if n := p.Node; n.Claim != nil && !n.Initialized {
			names = append(names, n.Claim.Name)
		}
	}
	return names
}

// launch creates the claims of the command's replacements, all or none.
func (c *Controller) launch(ctx context.Context, cmd *model.Command, drafts []act.Launch, now time.Time) error {
	defer c.Cluster.Launching()()
	spanCtx, end := c.Tracer.Span(ctx, tracing.Launch, "nodes", len(drafts))
	err := c.Actor.Replace(spanCtx, drafts)
	end(err)
	if err != nil {
		return err
	}
	for _, l := range drafts {
		c.Cluster.Assume(l.Claim)
		c.Cluster.Promise(l.Claim.Name, l.Node.Pods, now.Add(promised))
		c.tellLaunched(ctx, l, lower(cmd.Reason))
	}
	return nil
}

// withinLimits reports whether the replacements of the command fit in the limits of their NodePools. Nodes that other
// controllers launch at the same time are included. done must be called when the replacements are created, or if they will
// not be created.
func (c *Controller) withinLimits(ctx context.Context, s *model.Snapshot, cmd *model.Command) (done func(), ok bool) {
	may, done := c.Limits.Take(c.Name(), verify.Rules{Labels: c.Options.Pack.Labels}, s, cmd.Replacements)
	if !slices.Contains(may, false) {
		return done, true
	}
	ctrl.LoggerFrom(ctx).Info("disruption postponed, another plan uses up the limits of the nodepool", "command", cmd.Decision())
	return done, false
}

// hasNode reports whether the Node of n is among the objects that were written.
func hasNode(written []client.Object, n *model.Node) bool {
	return slices.ContainsFunc(written, func(o client.Object) bool {
		node, ok := o.(*corev1.Node)
		return ok && node.Name == n.Name
	})
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
