package disruption

import (
	"context"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/decisionlog"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// record adds a command to the decision log, unless an open episode already removes its first node.
func (c *Controller) record(ctx context.Context, s *model.Snapshot, cmd *model.Command, drafts []act.Launch, blocked []model.Blocked) {
	if c.Decisions == nil {
		return
	}
	if _, leaves := c.Decisions.Expects(cmd.Nodes[0].Claim.Name); leaves {
		return
	}
	id := c.Decisions.Begin(decisions.Commanded(s, cmd, decisionlog.Launched(drafts), blocked))
	c.Tracer.Annotate(ctx, "episode", id)
}

// recordStaticScaleIn adds the deletion of a node of a static NodePool, which has more nodes than replicas, to the decision log.
func (c *Controller) recordStaticScaleIn(ctx context.Context, s *model.Snapshot, n *model.Node) {
	if c.Decisions == nil {
		return
	}
	c.record(ctx, s, &model.Command{
		Reason: reasonStaticScaleIn, Method: "static", Nodes: []*model.Node{n}, Saves: s.PriceOf(n),
	}, nil, nil)
}

// recordStaticLaunches adds launches for static NodePools to the decision log.
func (c *Controller) recordStaticLaunches(s *model.Snapshot, launches []act.Launch) {
	if c.Decisions == nil || len(launches) == 0 {
		return
	}
	c.Decisions.Begin(decisions.Static(s, decisionlog.Launched(launches)))
}
