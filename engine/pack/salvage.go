package pack

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// maxRemovals is the largest number of times that salvage removes parts of a plan.
const maxRemovals = 6

// salvage returns the part of the plan that breaks no rule. It refuses the pods of the parts that violations name
// (podsOfParts) until no rule is broken, and adds the violations to c.out.Violations. If a rule is still broken after
// maxRemovals removals, or if verify panics, the plan refuses all pods.
func (c *checkedSolve) salvage(plan *model.Plan, violations []verify.Violation) *model.Plan {
	for n := 0; len(violations) > 0; n++ {
		c.out.Violations = append(c.out.Violations, violations...)
		if n == maxRemovals {
			return c.refuseAll(violationReason(c.out.Violations[0]))
		}
		plan = c.without(plan, podsOfParts(plan, violations))
		if failed := recovered(func() { violations = c.steps.Check(c.snapshot, plan) }); failed != nil {
			c.out.Panics = append(c.out.Panics, *failed)
			return c.refuseAll(violationReason(c.out.Violations[0]))
		}
	}
	return plan
}

// podsOfParts returns the pods of the parts of the plan that the violations name: the reason to refuse each, by pod key. For
// each violation the part is the first that it names of: a pod, a planned node, an existing node, a NodePool with all its
// planned nodes.
func podsOfParts(plan *model.Plan, violations []verify.Violation) map[string]model.Verdict {
	reasons := map[string]model.Verdict{}
	for _, v := range violations {
		no := internalError(violationReason(v))
		refuse := func(pods []*model.Pod) {
			for _, p := range pods {
				reasons[p.Key] = no
			}
		}
		position, isPlanned := v.PlannedNode()
		switch {
		case v.Pod != "":
			reasons[v.Pod] = no
		case isPlanned:
			refuse(plan.Nodes[position].Pods)
		case v.Node != "":
			for _, pl := range plan.Placements {
				if pl.Node != nil && pl.Node.Name == v.Node {
					refuse(pl.Pods)
				}
			}
		case v.Pool != "":
			for _, n := range plan.Nodes {
				if n.Pool.Name == v.Pool {
					refuse(n.Pods)
				}
			}
		}
	}
	return reasons
}

// without returns the plan without the pods for which there is a reason to refuse them, and without nodes that have no pods
// then. It has a new price and no floor, and refuses the pods that it does not place.
func (c *checkedSolve) without(plan *model.Plan, reasons map[string]model.Verdict) *model.Plan {
	isRefused := func(p *model.Pod) bool { return !reasons[p.Key].OK() }
	keep := func(pods []*model.Pod) []*model.Pod { return slices.DeleteFunc(slices.Clone(pods), isRefused) }
	rest := &model.Plan{Order: keep(plan.Order)}
	for _, pl := range plan.Placements {
		if pl.Pods = keep(pl.Pods); len(pl.Pods) > 0 && pl.Node != nil {
			rest.Placements = append(rest.Placements, pl)
		}
	}
	for _, n := range plan.Nodes {
		for _, p := range n.Pods {
			if isRefused(p) {
				n.Requests, n.Used = n.Requests.Minus(p.Requests), n.Used.Minus(p.Requests)
			}
		}
		if n.Pods = keep(n.Pods); len(n.Pods) > 0 {
			rest.Nodes = append(rest.Nodes, n)
			rest.Price += n.Price()
		}
	}
	for _, r := range plan.Refusals {
		if r.Pods = keep(r.Pods); len(r.Pods) > 0 {
			rest.Refusals = append(rest.Refusals, r)
		}
	}
	return c.account(rest, reasons, "no valid placement was found")
}

// account returns the plan with a refusal for each pod of c.pods that it neither places nor refuses. reasons[key] is the
// reason to refuse the pod with that key. For a pod without an entry, why is the reason.
func (c *checkedSolve) account(plan *model.Plan, reasons map[string]model.Verdict, why string) *model.Plan {
	known := map[string]bool{}
	note := func(pods []*model.Pod) {
		for _, p := range pods {
			known[p.Key] = true
		}
	}
	for _, pl := range plan.Placements {
		note(pl.Pods)
	}
	for i := range plan.Nodes {
		note(plan.Nodes[i].Pods)
	}
	for _, r := range plan.Refusals {
		note(r.Pods)
	}
	missing := map[model.Verdict][]*model.Pod{}
	for _, p := range c.pods {
		if known[p.Key] {
			continue
		}
		v := reasons[p.Key]
		if v.OK() {
			v = internalError(why)
		}
		missing[v] = append(missing[v], p)
	}
	return addRefusals(plan, missing)
}
