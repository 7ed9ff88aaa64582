package provision

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// withinLimits removes the nodes from the plan that exceed the limits of their NodePools, because other controllers launch nodes
// at the same time. Their pods are planned again in the next round. done must be called after the launch.
func (c *Controller) withinLimits(ctx context.Context, s *model.Snapshot, plan *model.Plan) (done func()) {
	may, done := c.Limits.Take(c.Name(), verify.Rules{Labels: c.Options.Labels}, s, plan.Nodes)
	var kept []model.PlannedNode
	for i, n := range plan.Nodes {
		if may[i] {
			kept = append(kept, n)
			continue
		}
		plan.Price -= n.Price()
		plan.Floor = 0 // the lower bound was computed for all planned nodes
	}
	if postponed := len(plan.Nodes) - len(kept); postponed > 0 {
		ctrl.LoggerFrom(ctx).Info("launch postponed, another plan uses up the limits of the nodepool", "nodes", postponed)
		plan.Nodes = kept
	}
	return done
}
