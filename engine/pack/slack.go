package pack

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// maxSlack is the largest share of a node that may be left free: more than half would be no slack but another kind of node.
const maxSlack = 0.5

// solveSlack solves with slack, and where that leaves out pods that find a place without, without.
func solveSlack(s *model.Snapshot, o Options, pods []*model.Pod) *model.Plan {
	plan := solve(s, o, pods)
	if o.Slack <= 0 || len(plan.Refusals) == 0 {
		return plan
	}
	o.Slack = 0
	if tight := solve(s, o, pods); unplaced(tight) < unplaced(plan) {
		return tight
	}
	return plan
}

// leaveSlack takes a share of cpu and memory out of the room of each shape, but nowhere so much that a pod which has room there
// alone has none.
func (p *problem) leaveSlack() {
	for _, s := range p.shelves {
		for _, sh := range s.pool.shapes {
			p.slacken(sh)
		}
	}
}

func (p *problem) slacken(sh *shape) {
	whole := slices.Clone(sh.room)
	for i, name := range p.cols {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
			sh.room[i] -= int64(float64(sh.typ.Allocatable[name]) * p.opts.Slack)
		}
	}
	least := slices.Clone(sh.room)
	for _, c := range p.classes {
		if _, _, missing := short(c.need.amount, whole); missing || !sh.carries(c.need.amount, c.need.cargo) {
			continue
		}
		if _, _, missing := short(c.need.amount, sh.room); !missing {
			continue
		}
		for i, v := range c.need.amount {
			least[i] = max(least[i], v)
		}
	}
	sh.room, sh.scaled = least, p.cols.scale(least)
}
