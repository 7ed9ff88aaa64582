package pack

import (
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// Solve returns a plan for the pending pods of s, and for the displaced pods: those on nodes that are being deleted.
func Solve(s *model.Snapshot, o Options) *model.Plan {
	pods := append(s.Pending(), s.Displaced()...)
	slices.SortFunc(pods, comparePods)
	pods = slices.CompactFunc(pods, func(a, b *model.Pod) bool { return a.Key == b.Key })
	pods, refused := exclude(s, o, pods)
	if len(pods) == 0 {
		return refuse(&model.Plan{}, refused)
	}
	return refuse(solveSlack(withRunnableDaemons(s), o.withDefaults(), pods), refused)
}

// solveSlack returns a plan that leaves Options.Slack free on new nodes. It returns a plan without slack instead if
// that one places more pods.
func solveSlack(s *model.Snapshot, o Options, pods []*model.Pod) *model.Plan {
	plan := solve(compile.Compile(s, o.settings(), pods), o)
	if o.Slack > 0 && len(plan.Refusals) > 0 {
		o.Slack = 0
		if tight := solve(compile.Compile(s, o.settings(), pods), o); unplaced(tight) < unplaced(plan) {
			return tight
		}
	}
	return plan
}

// maxAttempts limits the attempts to make a consistent plan, see isConsistent. A plan is inconsistent if limits or
// minValues leave pods without a node after they got a topology domain. At most maxAttempts-1 retries set quotas on
// such domains. Other retries omit the refused pods. The last plan, after 2*maxAttempts attempts, is returned even if
// it is inconsistent. SolveChecked then removes what breaks a rule.
const maxAttempts = 4

// solve returns a plan. It runs the phases until a plan is consistent and other quotas cannot help. Of several
// consistent plans it takes the one that places the most pods, and of those the cheapest.
func solve(p *compile.Problem, o Options) *model.Plan {
	var presets assign.Presets
	var best *draft
	omitted := map[*model.Pod]bool{}
	for attempt := 1; ; attempt++ {
		assigned := assign.Assign(p, presets)
		packed := packNodes(p, o, assigned)
		d := draftPlan(p, o, assigned, packed)
		if d.isConsistent() && (best == nil || d.isBetter(best)) {
			best = d
		}
		learned, helps := presets.Quotas.Learn(assigned.Segments, packed.served, d.refused)
		switch {
		case attempt < maxAttempts && helps:
			presets.Quotas = learned
			continue
		case best != nil:
			return repair(best)
		case attempt == 2*maxAttempts:
			return d.plan
		}
		for _, r := range d.plan.Refusals {
			for _, pod := range r.Pods {
				omitted[pod] = true
			}
		}
		presets.Omit = func(pod *model.Pod) bool { return omitted[pod] }
	}
}

// isConsistent reports whether every pod that got a domain, and that a topology group counts, also got a node.
// Otherwise the placements of other pods may be invalid. A bundle (Size > 1) may contain counted pods of other classes.
func (d *draft) isConsistent() bool {
	if len(d.problem.Groups) == 0 {
		return true
	}
	if len(d.refused) > 0 {
		return false
	}
	for i, s := range d.assigned.Segments {
		if d.packed.served[i] < len(s.Pods) && (len(s.Class.Members) > 0 || s.Size > 1) {
			return false
		}
	}
	return true
}

// isBetter reports whether d places more pods than o, or as many at a lower price.
func (d *draft) isBetter(o *draft) bool {
	if m, n := unplaced(d.plan), unplaced(o.plan); m != n {
		return m < n
	}
	return d.plan.Price < o.plan.Price
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
