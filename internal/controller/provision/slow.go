package provision

import (
	"cmp"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/controller/throttle"
)

// slow removes the nodes from the plan that the throttle does not allow now, and returns them. The allowed nodes are those whose
// pods have the highest priority, then those with the most pods.
func (c *Controller) slow(plan *model.Plan, now time.Time) []model.PlannedNode {
	left, bounded := c.Throttle.Left(throttle.Launch, now)
	var held []model.PlannedNode
	if bounded && len(plan.Nodes) > left {
		nodes := byImportance(plan.Nodes)
		plan.Nodes, held = nodes[:left:left], nodes[left:]
		plan.Floor = 0 // the lower bound was computed for all planned nodes
		for i := range held {
			plan.Price -= held[i].Price()
		}
	}
	c.Metrics.Throttle.HeldBack.WithLabelValues("launches").Set(float64(len(held)))
	return held
}

// byImportance returns the nodes sorted by the highest priority of their pods, then by the number of pods, both
// descending.
func byImportance(nodes []model.PlannedNode) []model.PlannedNode {
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b model.PlannedNode) int {
		return cmp.Or(cmp.Compare(importance(&b), importance(&a)), cmp.Compare(len(b.Pods), len(a.Pods)))
	})
	return nodes
}

// importance returns the highest priority of the pods of a planned node.
func importance(n *model.PlannedNode) int32 {
	var most int32
	for i, p := range n.Pods {
		if v := p.Priority(); i == 0 || v > most {
			most = v
		}
	}
	return most
}
