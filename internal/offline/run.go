package offline

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// A Run is what was decided on a Case, and how long that took.
type Run struct {
	Snapshot *model.Snapshot
	Plan     *model.Plan
	// Options are those that the plan was made with.
	Options pack.Options
	// Solve is the time from objects to finished plan, Verify that of its check.
	Solve, Verify time.Duration
	// Faults are what the check objected to. The pods that they name are left out of Plan. They are mistakes of this
	// program and never of the input.
	Faults []string
}

// attempts is how often a plan that its check refuses is made again without the pods that it objects to.
const attempts = 3

// Decide compiles and plans repeat times, keeping nothing in between, and returns the last run with the median times. Now
// tells the time; it is asked for durations only.
func (c *Case) Decide(o pack.Options, repeat int, now func() time.Time) (*Run, error) {
	o.Labels, o.Leave = c.Labels, c.Leave
	if len(c.Spread.Constraints) > 0 {
		o.DefaultSpread = c.Spread.Of()
	}
	return decide(func() *model.Snapshot { return model.Compile(c.Delta).At(c.Now) }, o, repeat, now)
}

// Decide plans on a snapshot that is there. o.Labels are those of the catalogue that its types come from.
func Decide(s *model.Snapshot, o pack.Options, now func() time.Time) (*Run, error) {
	return decide(func() *model.Snapshot { return s }, o, 1, now)
}

func decide(compile func() *model.Snapshot, o pack.Options, repeat int, now func() time.Time) (*Run, error) {
	var run *Run
	var solves, checks []time.Duration
	given := o.Leave
	for range max(repeat, 1) {
		o.Leave = map[string]string{}
		maps.Copy(o.Leave, given)
		start := now()
		s := compile()
		plan := pack.Solve(s, o)
		solved := now()
		found := rulesOf(o).Plan(s, plan)
		solves, checks = append(solves, solved.Sub(start)), append(checks, now().Sub(solved))
		run = &Run{Snapshot: s, Plan: plan, Options: o, Faults: texts(found)}
		if err := run.retry(found); err != nil {
			return nil, err
		}
	}
	run.Solve, run.Verify = median(solves), median(checks)
	return run, nil
}

// rulesOf returns what a plan made with o is checked by.
func rulesOf(o pack.Options) verify.Rules {
	return verify.Rules{Labels: o.Labels, DefaultSpread: o.DefaultSpread}
}

// retry plans again without the pods that the check objects to, as the controller does.
func (r *Run) retry(found []verify.Violation) error {
	for range attempts {
		if len(found) == 0 {
			return nil
		}
		before := len(r.Options.Leave)
		for _, v := range found {
			if v.Pod != "" {
				r.Options.Leave[v.Pod] = "no safe place was found: " + v.Detail
			}
		}
		if len(r.Options.Leave) == before {
			break
		}
		r.Plan = pack.Solve(r.Snapshot, r.Options)
		found = rulesOf(r.Options).Plan(r.Snapshot, r.Plan)
	}
	if len(found) > 0 {
		return fmt.Errorf("the plan does not hold, which is a mistake of this program: %s", found[0])
	}
	return nil
}

func texts(found []verify.Violation) []string {
	out := make([]string, len(found))
	for i, v := range found {
		out[i] = v.String()
	}
	return out
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// Pending is how many pods the plan speaks of.
func (r *Run) Pending() int {
	n := r.Placed()
	for _, x := range r.Plan.Refusals {
		n += len(x.Pods)
	}
	return n
}

// Placed is how many pods found a place.
func (r *Run) Placed() int {
	n := r.OnExisting()
	for i := range r.Plan.Nodes {
		n += len(r.Plan.Nodes[i].Pods)
	}
	return n
}

// OnExisting is how many pods found a place on nodes that are there.
func (r *Run) OnExisting() int {
	n := 0
	for _, p := range r.Plan.Placements {
		n += len(p.Pods)
	}
	return n
}
