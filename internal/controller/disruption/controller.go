package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
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
	"github.com/karpenter-go/karpenter/internal/limits"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/observe/inputs"
	"github.com/karpenter-go/karpenter/internal/singleton"
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
	Options disrupt.Options
	// Buffers ask for room for pods to come, which keeps the nodes that hold it; nil asks for none.
	Buffers *capacitybuffer.Buffers
	// Daemons completes the requests of DaemonSets by LimitRanges. If nil, they come from pods and templates alone.
	Daemons *inputs.Daemons
	// Spread returns the constraints that the scheduler gives to pods without any; nil means none.
	Spread *inputs.Spread
	// ShiftedZones is that of cloud.Shifter; nil if the provider is none.
	ShiftedZones func(context.Context) []string
	// Throttle holds the whole cluster back; nil holds nothing back.
	Throttle *throttle.Throttle
	// PricesCurrent reports whether prices are good enough to consolidate by; nil means always.
	PricesCurrent func() bool
	// Limits has the launches that snapshots do not show yet; nil means none.
	Limits *limits.Ledger

	state
}

// state may be lost: the next passes look at everything again.
type state struct {
	next   time.Time // when the next pass may begin
	cursor disrupt.Cursor
	// reassigned says that the destinations of moving pods were recomputed after the start, rolledBack that this pass took a
	// mark back.
	reassigned, rolledBack bool
	heldBack               int // replacements that the throttle has held back in this pass
	backoff                map[string]backoff
	types                  inputs.LastTypes
	measured               map[string]bool      // pools with gauges
	consolidationTypes     map[types.UID]string // consolidation types of marked nodes, by the UID of the claim
}

// Intervals of disruption.
const (
	// poll is how often to look when nothing has changed: budgets open by the clock.
	poll = 10 * time.Second
	// pause is the least time between two passes; a pass that took long is followed by four times its time, unless it began something.
	pause = time.Second
	// settle is how long a mark stands before it is acted on, so that the watch shows pods that were bound just before it.
	settle = 2 * time.Second
	// patience is how long a marked node waits for its replacements to be initialized, as in upstream.
	patience = 10 * time.Minute
	// promised is how long pods are expected to find their new place.
	promised = time.Hour
)

// reasonStaticScaleIn is why nodes of a static pool are deleted that has more than its replicas.
const reasonStaticScaleIn apiv1.DisruptionReason = telemetry.DisruptedStaticScaleIn

// Name returns the controller's name.
func (c *Controller) Name() string { return "disruption" }

// Register adds the controller to mgr. Changes of NodeClaims and NodePools trigger it once the cluster shows them: a watch of
// its own could be ahead of the cluster, and the pass would not see the change.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		WatchesRawSource(source.Func(c.watch)).
		Complete(c)
}

// watch has changes of the cluster's capacity make a pass.
func (c *Controller) watch(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.Cluster.OnCapacity(func() { queue.Add(singleton.Request()) })
	return nil
}

// Reconcile makes one pass: what is under way is finished or taken back, then what may go is begun. It waits for nothing:
// what is not ready yet is looked at in the next pass.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() || !c.Throttle.Known() {
		return ctrl.Result{RequeueAfter: observe.SyncPoll}, nil
	}
	start := c.Clock.Now()
	if wait := c.next.Sub(start); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.Cluster.ConfirmOrLog(ctx)
	c.Limits.Begin(c.Name())
	s := c.look(ctx)
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
	d := disrupt.Decide(s, options, c.cursor)
	c.cursor = d.Cursor
	c.measure(ctx, s, d, c.Clock.Since(began))
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
	now := c.Clock.Now()
	rest := max(pause, 4*now.Sub(start))
	if len(d.Commands) > 0 {
		rest = pause
	}
	c.next = now.Add(rest)
	return ctrl.Result{RequeueAfter: again}, err
}

// look returns the cluster as it is now, with all that decisions ask for.
func (c *Controller) look(ctx context.Context) *model.Snapshot {
	return c.Buffers.Stock(ctx, c.Daemons.WithRequests(ctx, inputs.WithInstanceTypes(ctx, c.Clock, c.Cloud, &c.types, c.Cluster.Snapshot())))
}

// options returns what this pass may do.
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

// carryOut begins what was decided. What the check of commands objects to is a fault of ours: it is logged and left out.
func (c *Controller) carryOut(ctx context.Context, s *model.Snapshot, d disrupt.Decision) error {
	var errs []error
	c.heldBack = 0
	for _, cmd := range c.checked(ctx, s, d.Commands) {
		errs = append(errs, c.begin(ctx, s, &cmd))
	}
	c.Metrics.Throttle.HeldBack.WithLabelValues("replacements").Set(float64(c.heldBack))
	for _, cmd := range d.Proposed {
		c.tellWithheld(cmd, c.proposal(s, cmd))
	}
	errs = append(errs, c.launchStatic(ctx, s, d.Launches))
	for _, n := range d.Surplus {
		if err := c.Actor.End(ctx, n); err != nil {
			errs = append(errs, err)
			continue
		}
		c.tellEnded(ctx, s, n, reasonStaticScaleIn)
	}
	return errors.Join(errs...)
}

// checked returns the commands that hold together, first come first.
func (c *Controller) checked(ctx context.Context, s *model.Snapshot, commands []model.Command) []model.Command {
	rules := verify.Rules{Labels: c.Options.Pack.Labels, DefaultSpread: c.Options.Pack.DefaultSpread}
	if len(commands) == 0 || len(rules.Commands(s, commands)) == 0 {
		return commands
	}
	var sound []model.Command
	for _, cmd := range commands {
		with := append(sound[:len(sound):len(sound)], cmd)
		violations := rules.Commands(s, with)
		if len(violations) == 0 {
			sound = with
			continue
		}
		ctrl.LoggerFrom(ctx).Error(errors.New(violations[0].String()), "internal error: command failed verification, not executed",
			"command", cmd.String())
	}
	return sound
}

// begin starts one command: it marks its nodes with the names of their replacements, then creates these claims. If a crash
// or an error interrupts it, marked nodes wait for claims that do not exist. Then the next pass removes the marks, and
// the claims that were created become surplus.
func (c *Controller) begin(ctx context.Context, s *model.Snapshot, cmd *model.Command) error {
	now := c.Clock.Now()
	switch {
	case cmd.Force:
		return c.force(ctx, cmd, now)
	case cmd.Reboots():
		return c.reboot(ctx, s, cmd, now)
	}
	if !c.Throttle.Allows(throttle.Replace, len(cmd.Replacements), now) {
		c.heldBack += len(cmd.Replacements)
		c.tellWithheld(*cmd, fmt.Sprintf("Not disrupted, %s: %s", c.Throttle.Why(throttle.Replace), cmd))
		return nil // the next pass decides again
	}
	done, within := c.withinLimits(ctx, s, cmd)
	defer done()
	if !within {
		return nil // the next pass decides again
	}
	drafts := c.Actor.Draft(cmd)
	waitFor := make([]string, len(drafts))
	for i, d := range drafts {
		waitFor[i] = d.Claim.Name
	}
	for _, p := range cmd.Placements {
		if n := p.Node; n.Claim != nil && !n.Initialized {
			waitFor = append(waitFor, n.Claim.Name) // left over from another command
		}
	}
	written, err := c.Actor.MarkAll(ctx, cmd, waitFor, now)
	c.Cluster.Assume(written...)
	if err != nil && len(waitFor) > 0 {
		ctrl.LoggerFrom(ctx).Info("failed to taint node, disruption command dropped",
			"command", cmd.Decision(), "error", err.Error())
		return ignoreConflict(err)
	}
	defer c.Cluster.Launching()()
	if launchErr := c.Actor.Replace(ctx, drafts); launchErr != nil {
		return launchErr
	}
	for _, l := range drafts {
		c.Cluster.Assume(l.Claim)
		c.Cluster.Promise(l.Claim.Name, l.Node.Pods, now.Add(promised))
		c.tellLaunched(ctx, l, lower(cmd.Reason))
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
	return ignoreConflict(err)
}

// withinLimits reports whether the replacements of the command still keep the limits of their pools, in addition to what other
// plans launch at the same time. done is to be called when the replacements are created, or will not be.
func (c *Controller) withinLimits(ctx context.Context, s *model.Snapshot, cmd *model.Command) (done func(), ok bool) {
	may, done := c.Limits.Take(c.Name(), verify.Rules{Labels: c.Options.Pack.Labels}, s, cmd.Replacements)
	if !slices.Contains(may, false) {
		return done, true
	}
	ctrl.LoggerFrom(ctx).Info("disruption postponed, another plan uses up the limits of the nodepool", "command", cmd.Decision())
	return done, false
}

// ignoreConflict drops conflicts. The watch will deliver the other write, and the next pass decides with it.
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
