package provision

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
)

// promise reserves the capacity of the node for the pods in the next rounds.
func (c *Controller) promise(node string, pods []*model.Pod, now time.Time) {
	c.Cluster.Promise(node, pods, now.Add(max(2*c.BatchMax, 10*time.Second)))
}

// breakPromises removes the reservations for pods that the plan does not place.
func (c *Controller) breakPromises(s *model.Snapshot, plan *model.Plan) {
	var broken []*model.Pod
	for _, r := range plan.Refusals {
		for _, p := range r.Pods {
			if !p.Bound() && s.TargetOf(p) != "" {
				broken = append(broken, p)
			}
		}
	}
	if len(broken) > 0 {
		c.Cluster.Break(broken)
	}
}

// countReplanned records the planned node of each pending pod. It counts the pods for which the previous round had planned a
// node that is not planned any more, including pods that are now refused. It stores the reasons in c.why.
func (c *Controller) countReplanned(s *model.Snapshot, plan *model.Plan, launches []act.Launch) {
	planned := make(map[types.UID]place, len(c.planned))
	c.why = map[types.UID]string{}
	again := 0
	note := func(node string, pods []*model.Pod) {
		for _, p := range pods {
			if p.Virtual() || p.Bound() {
				continue
			}
			was, known := c.planned[p.UID]
			before := was.node
			if n, ok := s.NodeByName(before); ok {
				before = n.Name // when its node joins, a claim is found by the node's name
			}
			if known && before != node {
				again++
				c.why[p.UID] = whyAgain(s, c.told, was)
			}
			if node == "" {
				continue
			}
			if !known || before != node {
				was = place{at: s.Now}
			}
			planned[p.UID] = place{node, was.at}
		}
	}
	for _, l := range launches {
		note(l.Claim.Name, l.Node.Pods)
	}
	for _, p := range plan.Placements {
		note(p.Node.Name, p.Pods)
	}
	for _, r := range plan.Refusals {
		note("", r.Pods)
	}
	c.planned = planned
	c.remember(s.Now)
	c.Metrics.Scheduler.ReplannedPodsTotal.WithLabelValues(c.Name()).Add(float64(again))
}

// memory is the maximum age of a stored planned node.
const memory = 10 * time.Minute

// remember adds the planned nodes of this round to told, and removes those that are older than memory.
func (c *Controller) remember(now time.Time) {
	if c.told == nil {
		c.told = map[types.UID]place{}
	}
	maps.Copy(c.told, c.planned)
	maps.DeleteFunc(c.told, func(_ types.UID, p place) bool { return now.Sub(p.at) > memory })
}
