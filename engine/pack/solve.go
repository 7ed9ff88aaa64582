package pack

import (
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// Solve returns a plan for the pending pods of s and for the pods that must leave their nodes.
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

// solveSlack returns a plan that leaves Options.Slack free on new nodes. If a plan without slack places more pods, it
// returns that one.
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

// maxAttempts bounds the attempts to make a consistent plan; see isConsistent. Limits and
// minValues may leave pods without a node after they were assigned a domain. At most maxAttempts-1 retries assign again
// with quotas on such domains. Other retries leave out the refused pods. After 2*maxAttempts attempts, the last plan is
// returned as it is, and SolveChecked removes what breaks a rule.
const maxAttempts = 4

// solve runs the phases until a plan is consistent. Among consistent plans it keeps the one that places the most pods,
// and of those the cheapest.
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

// isConsistent reports whether no group counts a pod that was assigned a domain but got no node. The places of other
// pods may rely on such a pod. A bundle (Size > 1) may hold pods of other classes, so it counts as such.
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

func unplaced(p *model.Plan) int {
	n := 0
	for _, r := range p.Refusals {
		n += len(r.Pods)
	}
	return n
}

func comparePods(a, b *model.Pod) int { return strings.Compare(a.Key, b.Key) }
