package pack

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// A Checked is a plan in which verify finds no violation, with the violations and panics on the way to it. A violation or a
// panic is caused by a bug of this program, not by its input.
type Checked struct {
	Plan *model.Plan
	// Excluded[key] is the reason to refuse the pod with that key without planning it. It contains Options.Excluded and the pods
	// that caused a panic. It does not contain pods that only salvage removed.
	Excluded map[string]model.Verdict
	// Violations are all violations that verify found in the plans before Plan, in order of discovery.
	Violations []verify.Violation
	// Panics are the panics of Solve and verify because of which pods were refused, with these pods. If planning still
	// panics without them, or verify during salvage, the plan refuses all pods, and that panic is listed without pods.
	Panics []Panic
}

// Steps are the two functions that SolveChecked calls. Tests replace them. The zero Steps uses Solve and verify.
type Steps struct {
	// Solve makes a plan. Nil means the function Solve.
	Solve func(*model.Snapshot, Options) *model.Plan
	// Check returns the rules that a plan breaks. Nil means verify.Rules.Plan.
	Check func(*model.Snapshot, *model.Plan) []verify.Violation
}

// SolveChecked returns a plan for the same pods as Solve, in which verify finds no violation. In the worst case the
// plan refuses all pods.
//
// From a plan with violations, salvage removes what breaks a rule: pods, planned nodes, placements on existing nodes, or all
// planned nodes of a pool. If Solve or verify panics, isolate finds the pods that cause it. These are refused, and the other
// pods are planned again.
func SolveChecked(s *model.Snapshot, o Options) Checked { return Steps{}.SolveChecked(s, o) }

// SolveChecked is like the function SolveChecked, but uses the functions of st.
func (st Steps) SolveChecked(s *model.Snapshot, o Options) Checked {
	if st.Solve == nil {
		st.Solve = Solve
	}
	if st.Check == nil {
		st.Check = verify.Rules{Labels: o.Labels, DefaultSpread: o.DefaultSpread}.Plan
	}
	c := &checkedSolve{steps: st, snapshot: s, options: o, pods: podsToPlan(s)}
	c.out.Excluded = map[string]model.Verdict{}
	maps.Copy(c.out.Excluded, o.Excluded)
	c.out.Plan = c.salvage(c.plan())
	return c.out
}

// A checkedSolve is the state of one call of SolveChecked.
type checkedSolve struct {
	steps    Steps
	snapshot *model.Snapshot
	options  Options
	pods     []*model.Pod // the pending and displaced pods, in key order
	out      Checked

	// State of isolate.
	excluded   map[string]model.Verdict // out.Excluded and the pods not tried yet: all others can be planned together without a panic
	isolations int                      // the number of plans that narrow made so far
}

// podsToPlan returns the pending pods and the displaced ones (on nodes that are being deleted), each once, in key order.
func podsToPlan(s *model.Snapshot) []*model.Pod {
	pods := append(slices.Clone(s.Pending()), s.Displaced()...)
	slices.SortFunc(pods, comparePods)
	return slices.CompactFunc(pods, func(a, b *model.Pod) bool { return a.Key == b.Key })
}

// plan returns a plan without the pods of c.out.Excluded, and its violations. If solving or checking panics, it adds the pods
// that cause the panic to c.out.Excluded and tries again. If the second try panics as well, the plan refuses all pods.
func (c *checkedSolve) plan() (*model.Plan, []verify.Violation) {
	plan, violations, failed := c.attempt(c.out.Excluded)
	if failed == nil {
		return plan, violations
	}
	c.isolate(*failed)
	if plan, violations, failed = c.attempt(c.out.Excluded); failed == nil {
		return plan, violations
	}
	c.out.Panics = append(c.out.Panics, *failed)
	return c.refuseAll(nothingPlanned(*failed)), nil
}

// try returns a plan without the pods of excluded, and its violations. If Solve or verify panics, it returns the panic.
func (c *checkedSolve) attempt(excluded map[string]model.Verdict) (plan *model.Plan, violations []verify.Violation, failed *Panic) {
	failed = recovered(func() {
		o := c.options
		o.Excluded = excluded
		plan = c.steps.Solve(c.snapshot, o)
		violations = c.steps.Check(c.snapshot, plan)
	})
	return plan, violations, failed
}

// refuseAll returns a plan that refuses all pods. The reason is that of c.out.Excluded, or why for pods without an entry.
func (c *checkedSolve) refuseAll(why string) *model.Plan {
	return c.account(&model.Plan{}, c.out.Excluded, why)
}

// violationReason returns the reason to refuse a pod because of the violation.
func violationReason(v verify.Violation) string { return "no valid placement was found: " + v.Detail }

// internalError returns the verdict on pods that are refused because of a failure of the planner.
func internalError(why string) model.Verdict {
	return model.Verdict{Rule: model.RuleInvalid, Cause: model.CauseInternal, Subject: why}
}
