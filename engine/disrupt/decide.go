package disrupt

import (
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/consolidate"
	"github.com/karpenter-go/karpenter/engine/disrupt/methods"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Decide chooses the nodes to disrupt now. It runs the methods twice. The first pass is for nodes whose NodePool's mode
// allows execution, and its commands are executed. The second pass is for the other nodes, and its commands are only
// reported. So reported commands cannot use capacity or budgets that executed commands need.
func Decide(s *model.Snapshot, o Options, from Cursor) Decision {
	cursor := from
	if cursor.unchanged = false; !from.unchanged {
		cursor.Consolidation.Results = nil
	}
	st := problem.Compile(s, o)
	d := Decision{Expected: st.Expected}
	st, waits := runMethods(st, (*problem.State).Executable, &cursor)
	d.Commands = st.Commands
	if o.Static {
		st, d.Scaling = methods.Scale(st)
	}
	st, waitsToo := runMethods(st, (*problem.State).OnlyProposed, &cursor)
	d.Proposed = st.Commands[len(d.Commands):]
	d.Blocked, d.Budgets, d.Stats = st.Blocked(), st.Budgets, st.Stats
	if !waits && !waitsToo {
		cursor.Consolidation.WaitingSince = time.Time{}
	}
	if len(d.Commands) > 0 {
		cursor.Turn = (from.Turn + 1) % len(voluntary)
	}
	d.Cursor = cursor
	return d
}

// runMethods applies all methods to st, each to the candidates that the function candidates returns for its reason. It returns the
// changed State, and updates cursor.Consolidation. waits is true if consolidation waits (see consolidate.Run).
func runMethods(
	st *problem.State, candidates func(*problem.State, apiv1.DisruptionReason) []*problem.Candidate, cursor *Cursor,
) (_ *problem.State, waits bool) {
	if found := candidates(st, status.ReasonUnhealthy); st.Problem.Options.LegacyRepair {
		st = methods.RepairByForce(st, found)
	} else {
		st = methods.Repair(st, found)
	}
	st = methods.Expire(st, candidates(st, status.ReasonExpired))
	for i := range voluntary {
		switch reason := voluntary[(i+cursor.Turn)%len(voluntary)]; reason {
		case apiv1.DisruptionReasonEmpty:
			st = methods.Empty(st, candidates(st, reason))
		case apiv1.DisruptionReasonDrifted:
			st = methods.Drift(st, candidates(st, reason))
		case apiv1.DisruptionReasonUnderutilized:
			st, cursor.Consolidation, waits = consolidate.Run(st, candidates(st, reason), cursor.Consolidation)
		}
	}
	return st, waits
}

// voluntary are the reasons of voluntary disruption. After each decision with commands, the next reason comes first, so
// that no reason always uses the budgets before the others.
var voluntary = [...]apiv1.DisruptionReason{
	apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonUnderutilized,
}

// Options configures Decide. The zero value is valid. The type is declared in package problem because all methods read
// it.
type Options = problem.Options

// A Cursor is the state that one decision passes to the next. It may be lost: the zero Cursor only makes some nodes
// stay longer.
type Cursor struct {
	// Turn is the index of the voluntary reason that comes first.
	Turn          int
	Consolidation consolidate.Cursor
	// unchanged says that Consolidation.Results count: the cluster has not changed since, see the method Unchanged.
	unchanged bool
}

// Unchanged returns the cursor for a decision about the same cluster and the same offers of the cloud as the decision that
// returned c. Only time has passed. The decision then repeats verdicts of consolidation for 15 minutes (see
// consolidate.Results).
func (c Cursor) Unchanged() Cursor {
	c.unchanged = true
	return c
}

// Same reports whether both lead to the same next decision. Results only save work.
func (c Cursor) Same(other Cursor) bool {
	a, b := c.Consolidation, other.Consolidation
	return c.Turn == other.Turn && a.After == b.After && a.WaitingSince.Equal(b.WaitingSince) && a.NextWait.Equal(b.NextWait)
}

// A Decision is the result of Decide: commands, and a verdict for each candidate (problem.Problem.Candidates) that stays.
type Decision struct {
	// Commands are the commands to execute, in this order.
	Commands []model.Command
	// Expected are the placements of pending and displaced pods, which commands count as bound.
	Expected []model.Placement
	// Proposed are commands that the mode of a NodePool does not allow to execute. They are only reported.
	Proposed []model.Command
	// Blocked are the candidates in neither Commands, Proposed nor Surplus, in name order.
	Blocked []model.Blocked
	// Scaling is for static NodePools. It is empty unless Options.Static is set.
	methods.Scaling
	// Budgets is the state of the budgets after Commands and Proposed.
	Budgets *budget.NodePools
	Cursor  Cursor
	Stats   problem.Stats
}
