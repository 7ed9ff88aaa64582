package offline

import (
	"fmt"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// A Run is the decision for a Case, with the times that it took.
type Run struct {
	Snapshot *model.Snapshot
	Plan     *model.Plan
	// Options are the options with which the plan was made.
	Options pack.Options
	// Solve is the time from the objects, or from the Snapshot if it was given, to the first plan. Verify is the time of
	// the check of this plan.
	Solve, Verify time.Duration
	// Faults are the violations that the check found, and panics. The nodes or pods that they concern are omitted from
	// Plan. A fault is always an error in this program, not in the input.
	Faults []string
}

// Snapshot returns the Snapshot of the objects.
func (c *Case) Snapshot() *model.Snapshot {
	return (&model.Snapshot{Now: c.Now, Aliases: c.Labels.Aliases, DynamicResources: c.DynamicResources}).Apply(c.Delta)
}

// Decide compiles the Snapshot and plans repeat times, at least once, without caching. It returns the last run with the
// median times. now returns the time and is used for durations only.
func (c *Case) Decide(o pack.Options, repeat int, now func() time.Time) *Run {
	o.Labels, o.Excluded = c.Labels, c.Leave
	if len(c.Spread.Constraints) > 0 {
		o.DefaultSpread = c.Spread.Of()
	}
	return decide(c.Snapshot, o, repeat, now)
}

// Decide plans on an existing Snapshot. o.Labels must be the label rules of the catalogue of its types.
func Decide(s *model.Snapshot, o pack.Options, now func() time.Time) *Run {
	return decide(func() *model.Snapshot { return s }, o, 1, now)
}

func decide(compile func() *model.Snapshot, o pack.Options, repeat int, now func() time.Time) *Run {
	var run *Run
	var solves, checks []time.Duration
	for range max(repeat, 1) {
		start := now()
		s := compile()
		var solved, checked time.Time // times of the first plan
		steps := pack.Steps{
			Solve: func(s *model.Snapshot, o pack.Options) *model.Plan {
				plan := pack.Solve(s, o)
				if solved.IsZero() {
					solved = now()
				}
				return plan
			},
			Check: func(s *model.Snapshot, plan *model.Plan) []verify.Violation {
				found := verify.Rules{Labels: o.Labels, DefaultSpread: o.DefaultSpread}.Plan(s, plan)
				if checked.IsZero() {
					checked = now()
				}
				return found
			},
		}
		result := steps.SolveChecked(s, o)
		if checked.IsZero() { // no plan was checked
			solved, checked = now(), now()
		}
		solves, checks = append(solves, solved.Sub(start)), append(checks, checked.Sub(solved))
		run = &Run{Snapshot: s, Plan: result.Plan, Options: o, Faults: faultsIn(result)}
		run.Options.Excluded = result.Excluded
	}
	run.Solve, run.Verify = median(solves), median(checks)
	return run
}

// faultsIn returns a text for each violation and each panic on the way to the plan.
func faultsIn(result pack.Checked) []string {
	var out []string
	for _, v := range result.Violations {
		out = append(out, "the check refused a part of its plan: "+v.String())
	}
	for _, p := range result.Panics {
		out = append(out, fmt.Sprintf("planning failed with %d pods, which were left out: %s\n%s", len(p.Pods), p.Value, p.Stack))
	}
	return out
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// Pending returns how many pods were planned.
func (r *Run) Pending() int {
	n := r.Placed()
	for _, x := range r.Plan.Refusals {
		n += len(x.Pods)
	}
	return n
}

// Placed returns how many pods get a node.
func (r *Run) Placed() int {
	n := r.OnExisting()
	for i := range r.Plan.Nodes {
		n += len(r.Plan.Nodes[i].Pods)
	}
	return n
}

// OnExisting returns how many pods are placed on existing nodes.
func (r *Run) OnExisting() int {
	n := 0
	for _, p := range r.Plan.Placements {
		n += len(p.Pods)
	}
	return n
}
