package disruption

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
	"github.com/karpenter-go/karpenter/internal/tracing"
)

// promiseLifetime is the minimum time for which the destination nodes reserve capacity for the pods of disrupted nodes.
const promiseLifetime = time.Hour

// begin starts one command. Commands that delete nodes at once or reboot a node have no marks. All others are begun only if the
// throttle and the limits of NodePools allow it. Otherwise the next pass makes a new decision. blocked has the nodes that the same
// decision keeps.
func (c *Controller) begin(ctx context.Context, s *model.Snapshot, cmd *model.Command, blocked []model.Blocked) (err error) {
	ctx, end := c.Tracer.Span(ctx, tracing.Command, "reason", string(cmd.Reason), "action", cmd.Decision(), "nodes", len(cmd.Nodes),
		"replacements", len(cmd.Replacements))
	defer func() { end(err) }()
	now := c.Clock.Now()
	switch {
	case cmd.Force:
		c.record(ctx, s, cmd, nil, blocked)
		return c.forceDelete(ctx, cmd, now)
	case cmd.Reboots():
		return c.requestReboot(ctx, s, cmd, now)
	}
	if !c.Throttle.Allows(throttle.Replace, len(cmd.Replacements), now) {
		c.heldBack += len(cmd.Replacements)
		why := c.Throttle.Why(throttle.Replace)
		c.tellWithheld(*cmd, why, fmt.Sprintf("Not disrupted, %s: %s", why, cmd))
		return nil
	}
	done, within := c.takeLimits(ctx, s, cmd)
	defer done()
	if !within {
		return nil
	}
	return c.markAndLaunch(ctx, s, cmd, blocked, now)
}

// markAndLaunch marks the nodes of the command with the names of their replacements, and then creates the claims with these names.
//
// If a node of a command with replacements cannot be marked, no claims are created, and the next pass removes the marks of the
// others. A command without replacements begins with the nodes that could be marked. If no node can be marked, nothing is begun
// and nothing is recorded.
//
// After a crash between the two steps, marked nodes wait for claims that do not exist. The next pass then removes the marks, and
// claims that were created become surplus.
func (c *Controller) markAndLaunch(
	ctx context.Context, s *model.Snapshot, cmd *model.Command, blocked []model.Blocked, now time.Time,
) error {
	drafts := c.Actor.Draft(cmd)
	unmarked, err := c.mark(ctx, cmd, namesToAwait(cmd, drafts), now)
	if err != nil && (len(drafts) > 0 || len(unmarked) == len(cmd.Nodes)) {
		ctrl.LoggerFrom(ctx).Info("failed to taint node, disruption command dropped",
			"command", cmd.Decision(), "error", err.Error())
		return ignoreConflict(err)
	}
	if launchErr := c.launch(ctx, cmd, drafts, now); launchErr != nil {
		return launchErr
	}
	for _, p := range cmd.Placements {
		c.Cluster.Promise(p.Node.Name, p.Pods, now.Add(promiseLifetime))
	}
	c.Throttle.Done(throttle.Replace, len(drafts), now)
	if !status.Forced(cmd.Reason) {
		c.Throttle.Done(throttle.Disrupt, len(cmd.Nodes), now)
	}
	c.storeConsolidationTypes(cmd)
	if cmd.Repair != nil {
		c.tellSelected(ctx, cmd)
	}
	c.tellMarked(ctx, s, cmd)
	c.record(ctx, s, cmd, drafts, blocked)
	return ignoreConflict(err)
}

// mark marks the nodes of the command and returns those that could not be marked. These get a backoff, so that they do not use up
// budgets and limits in each pass. After a conflict they do not: the next pass decides again, from the newer object.
func (c *Controller) mark(
	ctx context.Context, cmd *model.Command, waitFor []string, now time.Time,
) (unmarked []*model.Node, err error) {
	written, err := c.Actor.MarkAll(ctx, cmd, waitFor, now)
	c.Cluster.Assume(written...)
	unmarked = slices.DeleteFunc(slices.Clone(cmd.Nodes), func(n *model.Node) bool { return hasNode(written, n) })
	if ignoreConflict(err) != nil {
		for _, n := range unmarked {
			c.startBackoff(n)
		}
	}
	return unmarked, err
}

// hasNode reports whether the Node of n is among the objects that were written.
func hasNode(written []client.Object, n *model.Node) bool {
	return slices.ContainsFunc(written, func(o client.Object) bool {
		node, ok := o.(*corev1.Node)
		return ok && node.Name == n.Name
	})
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
		c.Cluster.Promise(l.Claim.Name, l.Node.Pods, now.Add(promiseLifetime))
		c.tellLaunched(ctx, l, lower(cmd.Reason))
	}
	return nil
}

// takeLimits takes the replacements of the command from what the limits of their NodePools leave, and reports whether they fit.
// Nodes that other controllers launch at the same time are included. done must be called when the replacements are created, or if
// they will not be created.
func (c *Controller) takeLimits(ctx context.Context, s *model.Snapshot, cmd *model.Command) (done func(), ok bool) {
	may, done := c.Limits.Take(c.Name(), verify.Rules{Labels: c.Options.Pack.Labels}, s, cmd.Replacements)
	if !slices.Contains(may, false) {
		return done, true
	}
	ctrl.LoggerFrom(ctx).Info("disruption postponed, another plan uses up the limits of the nodepool", "command", cmd.Decision())
	return done, false
}
