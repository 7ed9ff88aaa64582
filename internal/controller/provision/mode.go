package provision

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// planWithModes makes the plan that is executed. NodePools in mode DryRun take no pods from other NodePools: if the plan for all
// NodePools would launch nodes of them, proposed has these nodes, and plan is made without launches of these NodePools. Its
// refusals are those of the plan for all NodePools. If all NodePools are in mode DryRun, plan has the nodes, and proposed is empty.
func (c *Controller) planWithModes(ctx context.Context, s *model.Snapshot) (plan *model.Plan, waits map[string]model.Verdict, proposed []model.PlannedNode) {
	plan, waits = c.planWithPauses(ctx, s)
	for _, n := range plan.Nodes {
		if n.Pool.Mode(c.Mode) == apiv1.ModeDryRun {
			proposed = append(proposed, n)
		}
	}
	dry := map[string]bool{}
	for _, p := range s.Pools() {
		dry[p.Name] = p.Mode(c.Mode) == apiv1.ModeDryRun
	}
	if len(proposed) == 0 || !slices.Contains(slices.Collect(maps.Values(dry)), false) {
		return plan, waits, nil
	}
	none := model.WithOfferings(s, func(_ *model.InstanceType, o *model.Offering) bool {
		o.Available = false
		return true
	})
	for pool := range none {
		if !dry[pool] {
			none[pool] = s.Types(pool)
		}
	}
	executed, delayed := c.planWithPauses(ctx, s.Apply(model.Delta{Types: none}))
	executed.Refusals = plan.Refusals
	maps.Copy(waits, delayed)
	return executed, waits, proposed
}

// holdBack removes the nodes from the plan that must not be launched because of the mode of their NodePools. told has those of
// NodePools in mode DryRun, which are only reported. unapproved has those of NodePools in mode Approve that exceed the approved
// number.
func (c *Controller) holdBack(s *model.Snapshot, plan *model.Plan) (told, unapproved []model.PlannedNode) {
	var kept []model.PlannedNode
	room := map[string]int{}
	for _, n := range byImportance(plan.Nodes) {
		mode := n.Pool.Mode(c.Mode)
		if _, known := room[n.Pool.Name]; !known {
			room[n.Pool.Name] = approved(n.Pool) - size(s, n.Pool.Name)
		}
		switch {
		case mode == apiv1.ModeDryRun:
			told = append(told, n)
		case mode == apiv1.ModeApprove && room[n.Pool.Name] <= 0:
			unapproved = append(unapproved, n)
		default:
			kept = append(kept, n)
			room[n.Pool.Name]--
			continue
		}
		plan.Price -= n.Price()
	}
	if len(kept) < len(plan.Nodes) {
		plan.Nodes, plan.Floor = kept, 0 // the lower bound was computed for all planned nodes
	}
	return told, unapproved
}

// approved returns the approved number of nodes of a NodePool in mode Approve, 0 if the annotation is missing or invalid.
func approved(p *model.Pool) int {
	n, err := strconv.Atoi(p.Object.Annotations[apiv1.MaxApprovedNodesAnnotationKey])
	if err != nil {
		return 0
	}
	return n
}

// size returns the number of nodes of the NodePool, including claims whose nodes have not joined. It does not count nodes that
// are being deleted or disrupted.
func size(s *model.Snapshot, pool string) int {
	n := 0
	for _, node := range s.Nodes() {
		if node.Pool == pool && !node.Deleting && !node.Disrupted() {
			n++
		}
	}
	return n
}

// tellUnapproved publishes an event on each NodePool about its nodes that lack an approval. The message contains the annotation
// and the value that the NodePool needs to approve them. s is the cluster before the launches.
func (c *Controller) tellUnapproved(ctx context.Context, s *model.Snapshot, launches []act.Launch, unapproved []model.PlannedNode) {
	held, sizes := map[string][]model.PlannedNode{}, map[string]int{}
	for _, n := range unapproved {
		held[n.Pool.Name] = append(held[n.Pool.Name], n)
	}
	for _, l := range launches {
		sizes[l.Node.Pool.Name]++
	}
	for pool, nodes := range held {
		c.tellWithheld(ctx, nodes, "mode Approve", fmt.Sprintf("Waiting for approval to launch %%s: set annotation %s to \"%d\" on NodePool %s",
			apiv1.MaxApprovedNodesAnnotationKey, size(s, pool)+sizes[pool]+len(nodes), pool))
	}
}

// tellWithheld publishes an event on each NodePool about its nodes that were not launched because of the limit. format has one
// verb, for the nodes and their price.
func (c *Controller) tellWithheld(ctx context.Context, held []model.PlannedNode, limit, format string) {
	byPool := map[string]*model.Plan{}
	for _, n := range held {
		plan := byPool[n.Pool.Name]
		if plan == nil {
			plan = &model.Plan{}
			byPool[n.Pool.Name] = plan
		}
		plan.Nodes = append(plan.Nodes, n)
		plan.Price += n.Price()
	}
	for name, plan := range byPool {
		mix := strings.Join(plan.Mix(), ", ")
		c.Events.Publish(telemetry.Event{
			Object: plan.Nodes[0].Pool.Object, Type: corev1.EventTypeNormal, Reason: telemetry.EventLaunchWithheld,
			Message: fmt.Sprintf(format, fmt.Sprintf("%s ($%.4f/h)", mix, plan.Price)),
		})
		ctrl.LoggerFrom(ctx).Info("launch withheld", "limit", limit, "NodePool", klog.KRef("", name),
			"nodes", len(plan.Nodes), "instance-types", plan.Mix(), "price-per-hour", plan.Price)
	}
}
