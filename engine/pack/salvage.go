package pack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// maxAdmissions is the largest number of plans that reassemble checks.
const maxAdmissions = 48

// salvage returns a part of the plan that breaks no rule. It removes the nodes, placements and pods that violations
// name. If the rest still breaks a rule, reassemble finds out which of its parts do. The removed pods are refused.
func (c *checkedSolve) salvage(plan *model.Plan, violations []verify.Violation) *model.Plan {
	rest := c.without(plan, partsNamed(violations))
	if c.holds(rest) {
		return rest
	}
	return c.reassemble(rest, violationReason(violations[0]))
}

// holds reports whether the check of the plan finds no violation and does not panic. It records what it finds.
func (c *checkedSolve) holds(plan *model.Plan) bool {
	var violations []verify.Violation
	if failed := recovered(func() { violations = c.steps.Check(c.snapshot, plan) }); failed != nil {
		c.out.Panics = append(c.out.Panics, *failed)
		return false
	}
	c.out.Violations = append(c.out.Violations, violations...)
	return len(violations) == 0
}

// reassemble returns a plan without violations, from placements and planned nodes of the plan whole. It tries to add
// each half of them. If that breaks a rule, it tries each half of the half, and so on. All other pods are refused with
// the reason why.
func (c *checkedSolve) reassemble(whole *model.Plan, why string) *model.Plan {
	count := len(whole.Placements) + len(whole.Nodes)
	kept, checks := make([]bool, count), 0
	plan := c.refuseAll(why)
	var admit func(from, to int)
	admit = func(from, to int) {
		if from == to || checks >= maxAdmissions {
			return
		}
		with := c.without(whole, partsBut(whole, why, func(i int) bool { return kept[i] || from <= i && i < to }))
		var violations []verify.Violation
		checks++
		if recovered(func() { violations = c.steps.Check(c.snapshot, with) }) == nil && len(violations) == 0 {
			plan = with
			for i := from; i < to; i++ {
				kept[i] = true
			}
			return
		}
		if half := (from + to) / 2; from < half {
			admit(from, half)
			admit(half, to)
		}
	}
	admit(0, count/2)
	admit(count/2, count)
	return plan
}

// partsBut returns the parts of the plan to remove: the placements and nodes with numbers i for which kept(i) is false.
// Placements are numbered first, then nodes. why is the reason to refuse their pods.
func partsBut(plan *model.Plan, why string, kept func(int) bool) removal {
	b := removal{nodes: map[int]string{}, existing: map[string]string{}, pods: map[string]string{}}
	for i, pl := range plan.Placements {
		if !kept(i) && pl.Node != nil {
			b.existing[pl.Node.Name] = why
		}
	}
	for i := range plan.Nodes {
		if !kept(len(plan.Placements) + i) {
			b.nodes[i] = why
		}
	}
	return b
}

// A removal is what to remove from a plan. Each removed part has the reason to refuse its pods.
type removal struct {
	nodes    map[int]string    // the planned nodes to remove: reason by position in Plan.Nodes
	existing map[string]string // the placements to remove: reason by node name
	pods     map[string]string // the pods to remove: reason by pod key
}

// partsNamed returns the parts of a plan that the violations name: pods, planned nodes, and existing nodes.
func partsNamed(violations []verify.Violation) removal {
	b := removal{nodes: map[int]string{}, existing: map[string]string{}, pods: map[string]string{}}
	for _, v := range violations {
		why := violationReason(v)
		position, isPlanned := v.PlannedNode()
		switch {
		case v.Pod != "":
			b.pods[v.Pod] = why
		case isPlanned:
			b.nodes[position] = why
		case v.Node != "":
			b.existing[v.Node] = why
		}
	}
	return b
}

// without returns the plan without the parts b, with a new price. It refuses the pods that have no node any more.
func (c *checkedSolve) without(plan *model.Plan, b removal) *model.Plan {
	rest := &model.Plan{}
	reasons := maps.Clone(b.pods)
	keep := func(pods []*model.Pod, why string) (kept []*model.Pod) {
		for _, p := range pods {
			if why != "" && reasons[p.Key] == "" {
				reasons[p.Key] = why
			}
			if reasons[p.Key] == "" {
				kept = append(kept, p)
			}
		}
		return kept
	}
	for _, pl := range plan.Placements {
		why := "no safe place was found"
		if pl.Node != nil {
			why = b.existing[pl.Node.Name]
		}
		if pl.Pods = keep(pl.Pods, why); len(pl.Pods) > 0 {
			rest.Placements = append(rest.Placements, pl)
		}
	}
	for i, n := range plan.Nodes {
		if n.Pods = keep(n.Pods, b.nodes[i]); len(n.Pods) > 0 {
			rest.Nodes = append(rest.Nodes, n)
			rest.Price += n.Price()
		}
	}
	for _, r := range plan.Refusals {
		if r.Pods = keep(r.Pods, ""); len(r.Pods) > 0 {
			rest.Refusals = append(rest.Refusals, r)
		}
	}
	rest.Order = keep(plan.Order, "")
	return c.account(rest, reasons)
}

// account returns the plan with a refusal for each pod of c.pods that it neither places nor refuses. reasons[key] is
// the reason to refuse the pod with that key. A pod without an entry gets a general reason.
func (c *checkedSolve) account(plan *model.Plan, reasons map[string]string) *model.Plan {
	known := placedKeys(plan)
	for _, r := range plan.Refusals {
		for _, p := range r.Pods {
			known[p.Key] = true
		}
	}
	byReason := map[string][]*model.Pod{}
	for _, p := range c.pods {
		if !known[p.Key] {
			byReason[reasons[p.Key]] = append(byReason[reasons[p.Key]], p)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		v := internalError(cmp.Or(why, "no valid placement was found"))
		plan.Refusals = append(plan.Refusals, model.Refusal{Pods: byReason[why], Reasons: []model.PoolVerdict{{Verdict: v}}})
	}
	slices.SortStableFunc(plan.Refusals, func(a, b model.Refusal) int { return strings.Compare(a.Pods[0].Key, b.Pods[0].Key) })
	return plan
}
