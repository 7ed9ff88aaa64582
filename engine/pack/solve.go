package pack

import (
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// Solve returns a plan for the pending pods of s, and for the displaced ones (Snapshot.Displaced): pods that need another
// place because their node is being deleted.
func Solve(s *model.Snapshot, o Options) *model.Plan {
	pods, refused := exclude(s, o, podsToPlan(s))
	if len(pods) == 0 {
		return refuse(&model.Plan{}, refused)
	}
	s = withRunnableDaemons(s)
	plan := solve(s, o, pods)
	if o.Slack > 0 && len(plan.Refusals) > 0 {
		o.Slack = 0
		if tight := solve(s, o, pods); unplaced(tight) < unplaced(plan) {
			plan = tight
		}
	}
	return refuse(plan, refused)
}

// solve returns a plan for the pods. It runs the phases until repairer.finish returns one.
func solve(s *model.Snapshot, o Options, pods []*model.Pod) *model.Plan {
	p := compile.Compile(s, o.settings(), pods)
	r := repairer{quotas: assign.Quotas{}, omitted: map[*model.Pod]bool{}}
	for {
		assigned := assign.Assign(p, r.quotas, r.omitted)
		packed := packNodes(o, assigned)
		draft := draftPlan(p, o, assigned, packed)
		if plan := r.finish(draft); plan != nil {
			return plan
		}
	}
}

// unplaced returns the number of refused pods of the plan.
func unplaced(p *model.Plan) int {
	n := 0
	for _, r := range p.Refusals {
		n += len(r.Pods)
	}
	return n
}

func comparePods(a, b *model.Pod) int { return strings.Compare(a.Key, b.Key) }
