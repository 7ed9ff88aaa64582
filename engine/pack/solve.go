package pack

import (
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/assign"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// Solve returns where the pending pods of s go, with the pods of nodes that are on their way out.
func Solve(s *model.Snapshot, o Options) *model.Plan {
	pods := append(s.Pending(), s.Displaced()...)
	slices.SortFunc(pods, comparePods)
	pods = slices.CompactFunc(pods, func(a, b *model.Pod) bool { return a.Key == b.Key })
	if len(pods) == 0 {
		return &model.Plan{}
	}
	o = o.withDefaults()
	plan := solve(compile.Compile(s, o.settings(), pods), o)
	if o.Slack > 0 && len(plan.Refusals) > 0 {
		o.Slack = 0
		if tight := solve(compile.Compile(s, o.settings(), pods), o); unplaced(tight) < unplaced(plan) {
			return tight
		}
	}
	return plan
}

// Limits and minValues may leave out pods to which a domain was assigned and that other pods count. maxAttempts is how often
// such an assignment is made again with quotas, and then how often without the pods that are left out.
const maxAttempts = 4

// solve runs the phases until no pod counts on another that is left out, and keeps the plan that places the most pods, of
// equals the cheapest.
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
		presets.Without = func(pod *model.Pod) bool { return omitted[pod] }
	}
}

// isConsistent reports whether no pod that has a place counts on one that is left out although it was assigned a domain.
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

// isBetter reports whether d places more pods than o, or as many for less.
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
