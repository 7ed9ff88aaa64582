package provision

import (
	"context"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/decisionlog"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// record adds a round to the decision log. Rounds are repeated while pods are pending. So a round without launches is
// recorded only if it has refusals and their reasons differ from those that were recorded last.
func (c *Controller) record(ctx context.Context, s *model.Snapshot, plan *model.Plan, launches []act.Launch, refused []decisions.Refusal) {
	if c.Decisions == nil {
		return
	}
	reasons := make([]string, len(refused))
	for i, r := range refused {
		reasons[i] = r.Reason
	}
	slices.Sort(reasons)
	key := strings.Join(slices.Compact(reasons), "\x00")
	if len(launches) == 0 && (len(refused) == 0 || key == c.refusedBefore) {
		return
	}
	c.refusedBefore = key
	id := c.Decisions.Begin(decisions.Provisioned(s, plan, decisionlog.Launched(launches), refused))
	c.Tracer.Annotate(ctx, "episode", id)
}
