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

// maxAttempts limits the attempts to make a consistent plan, see isConsistent. At most maxAttempts-1 repairs set quotas
// on topology domains. Other repairs omit the refused pods. The plan of attempt 2*maxAttempts is returned even if it is
// inconsistent. SolveChecked then removes what breaks a rule.
const maxAttempts = 4

// A repairer decides what the next attempt changes if a draft leaves pods without a node after they got a topology
// domain. For example, limits and minValues cause that. The next attempt gives some of these pods other domains, or omits
// the refused pods.
//
// No repair adds a pod to a planned node. A refused pod that fits there is bound by kube-scheduler once the node runs.
type repairer struct {
	quotas   assign.Quotas
	omitted  map[*model.Pod]bool
	best     *draft // the best consistent draft so far, nil if there is none
	attempts int
}

// finish returns the final plan, or nil after changing quotas or omitted for another attempt. For at most maxAttempts attempts
// it tries again as long as Quotas.Learn lowers a quota, even after a consistent draft. Then it returns the best consistent
// plan: the one that places the most pods, and of those the cheapest. Without one it omits the refused pods and tries
// again. After 2*maxAttempts attempts it returns the last plan.
func (r *repairer) finish(d *draft) *model.Plan {
	r.attempts++
	if d.isConsistent() && (r.best == nil || d.isBetter(r.best)) {
		r.best = d
	}
	switch {
	case r.attempts < maxAttempts && r.quotas.Learn(d.assigned.Segments, d.unplaced):
		return nil
	case r.best != nil:
		return r.best.plan
	case r.attempts == 2*maxAttempts:
		return d.plan
	}
	for _, refusal := range d.plan.Refusals {
		for _, pod := range refusal.Pods {
			r.omitted[pod] = true
		}
	}
	return nil
}

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
