package pack

import (
	"slices"
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
		return addRefusals(&model.Plan{}, refused)
	}
	s = withRunnableDaemons(s)
	plan := solve(s, o, pods)
	if o.Slack > 0 && len(plan.Refusals) > 0 {
		o.Slack = 0
		if tight := solve(s, o, pods); unplaced(tight) < unplaced(plan) {
			plan = tight
		}
	}
	return addRefusals(plan, refused)
}

// maxAttempts limits the attempts to make a consistent plan, see solve and isConsistent.
const maxAttempts = 4

// solve returns a plan for the pods. A draft can leave pods without a node after they got a topology domain. For example,
// limits and minValues cause that. Then solve repeats the phases:
//
//   - In the first maxAttempts attempts, as long as Quotas.Learn lowers a quota, even after a consistent draft. With the
//     quotas, some of these pods get other domains. After that, solve returns the best consistent plan: the one that places
//     the most pods, and of those the cheapest.
//   - If there is none, without the refused pods. The plan of attempt 2*maxAttempts is returned even if it is inconsistent.
//     SolveChecked then removes what breaks a rule.
//
// No later attempt adds a pod to a planned node. A refused pod that fits there is bound by kube-scheduler once the node runs.
func solve(s *model.Snapshot, o Options, pods []*model.Pod) *model.Plan {
	p := compile.Compile(s, o.settings(), pods)
	quotas, omitted := assign.Quotas{}, map[*model.Pod]bool{}
	var best *draft // the best consistent draft so far, nil if there is none
	for attempt := 1; ; attempt++ {
		assigned := assign.Assign(p, quotas, omitted)
		d := draftPlan(p, o, assigned, packNodes(o, assigned))
		if d.isConsistent() && (best == nil || d.isBetter(best)) {
			best = d
		}
		switch {
		case attempt < maxAttempts && quotas.Learn(assigned.Segments, d.unplaced):
		case best != nil:
			return best.plan
		case attempt == 2*maxAttempts:
			return d.plan
		default:
			for _, r := range d.plan.Refusals {
				for _, pod := range r.Pods {
					omitted[pod] = true
				}
			}
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

// isConsistent reports whether every pod that got a domain, and that a topology group counts, also got a node.
// Otherwise the placements of other pods may be invalid. A bundle (Segment.Size > 1) may contain counted pods of another
// class. Without topology groups the result is true. With them, if a node cannot be launched, isConsistent returns false
// without looking at the pods of the node.
func (d *draft) isConsistent() bool {
	if len(d.problem.Groups) == 0 {
		return true
	}
	// Pods without a node are the last ones of their segment.
	return len(d.plan.Nodes) == len(d.packed.nodes) && !slices.ContainsFunc(d.assigned.Segments, func(s *assign.Segment) bool {
		return (len(s.Class.Members) > 0 || s.Size > 1) && d.unplaced[s.Pods[len(s.Pods)-1]]
	})
}

// isBetter reports whether d places more pods than o, or as many at a lower price.
func (d *draft) isBetter(o *draft) bool {
	if m, n := unplaced(d.plan), unplaced(o.plan); m != n {
		return m < n
	}
	return d.plan.Price < o.plan.Price
}
