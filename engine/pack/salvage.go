package pack

import (
	"cmp"
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// maxRemovals is the largest number of times that salvage removes parts of a plan.
const maxRemovals = 4

// salvage returns a part of the plan that breaks no rule. It removes the parts that violations name (partsNamed) until no
// rule is broken. If a rule is still broken after maxRemovals removals, or if verify panics, the plan refuses all pods.
func (c *checkedSolve) salvage(plan *model.Plan, violations []verify.Violation) *model.Plan {
	why := violationReason(violations[0])
	for range maxRemovals {
		plan = c.without(plan, partsNamed(plan, violations))
		if failed := recovered(func() { violations = c.steps.Check(c.snapshot, plan) }); failed != nil {
			c.out.Panics = append(c.out.Panics, *failed)
			break
		}
		if len(violations) == 0 {
			return plan
		}
		c.out.Violations = append(c.out.Violations, violations...)
	}
	return c.refuseAll(why)
}

// A removal is what to remove from a plan. Each removed part has the reason to refuse its pods.
type removal struct {
	nodes    map[int]string    // the planned nodes to remove: reason by position in Plan.Nodes
	existing map[string]string // the placements to remove: reason by node name
	pods     map[string]string // the pods to remove: reason by pod key
}

// partsNamed returns the parts of the plan that the violations name. For each violation this is the first that it names of:
// a pod, a planned node, an existing node, a NodePool with all its planned nodes.
func partsNamed(plan *model.Plan, violations []verify.Violation) removal {
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
		case v.Pool != "":
			for i := range plan.Nodes {
				if plan.Nodes[i].Pool.Name == v.Pool {
					b.nodes[i] = why
				}
			}
		}
	}
	return b
}

// without returns the plan without the parts b, with a new price and without a floor. It refuses the pods that have no node
// any more.
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
		all := n.Pods
		if n.Pods = keep(all, b.nodes[i]); len(n.Pods) > 0 {
			for _, p := range all {
				if reasons[p.Key] != "" {
					n.Requests = n.Requests.Minus(p.Requests)
				}
			}
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
	slices.SortStableFunc(plan.Refusals, compareRefusals)
	return plan
}
