package provision

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// holdBack takes the nodes of pools in mode DryRun out of the plan and returns them.
func (c *Controller) holdBack(plan *model.Plan) []model.PlannedNode {
	var held, kept []model.PlannedNode
	for _, n := range plan.Nodes {
		if disrupt.ModeOf(n.Pool, c.Mode) == apiv1.ModeDryRun {
			held = append(held, n)
			plan.Price -= n.Price()
		} else {
			kept = append(kept, n)
		}
	}
	if len(held) > 0 {
		plan.Nodes, plan.Floor = kept, 0 // the floor was that of all
	}
	return held
}

// tellHeldBack tells each pool what would have been launched of it, but for something.
func (c *Controller) tellHeldBack(ctx context.Context, held []model.PlannedNode, something string) {
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
			Object: plan.Nodes[0].Pool.Object, Type: corev1.EventTypeNormal, Reason: telemetry.EventLaunchProposed,
			Message: fmt.Sprintf("%s holds back a launch of %s at $%.4f/h", something, mix, plan.Price),
		})
		ctrl.LoggerFrom(ctx).Info("launch held back", "by", something, "NodePool", map[string]string{"name": name},
			"nodes", len(plan.Nodes), "instanceTypes", plan.Mix(), "pricePerHour", plan.Price)
	}
}
