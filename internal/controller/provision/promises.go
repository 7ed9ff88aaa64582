package provision

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
)

// promise keeps the pods' places for the next rounds.
func (c *Controller) promise(node string, pods []*model.Pod, now time.Time) {
	c.Cluster.Promise(node, pods, now.Add(max(2*c.BatchMax, 10*time.Second)))
}

// breakPromises takes back what pods were told that have no place any more.
func (c *Controller) breakPromises(s *model.Snapshot, plan *model.Plan) {
	var broken []*model.Pod
	for _, r := range plan.Refusals {
		for _, p := range r.Pods {
			if !p.Bound() && s.PromiseOf(p) != "" {
				broken = append(broken, p)
			}
		}
	}
	if len(broken) > 0 {
		c.Cluster.Break(broken)
	}
}

// countReplanned counts the waiting pods that an earlier round had planned for another node than this one does.
func (c *Controller) countReplanned(s *model.Snapshot, plan *model.Plan, launches []act.Launch) {
	planned := make(map[types.UID]string, len(c.planned))
	again := 0
	note := func(node string, pods []*model.Pod) {
		for _, p := range pods {
			if p.Virtual() || p.Bound() {
				continue
			}
			before, known := c.planned[p.UID]
			if n, ok := s.NodeByName(before); ok {
				before = n.Name // a claim has its node's name once that has joined
			}
			if known && before != node {
				again++
			}
			if node != "" {
				planned[p.UID] = node
			}
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
	c.Metrics.Scheduler.ReplannedPodsTotal.WithLabelValues(c.Name()).Add(float64(again))
}
