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
	st := problem.Compile(s, o)
	d := Decision{Cursor: from, Expected: st.Expected}
	waits := false
	for _, proposed := range []bool{false, true} {
		if due := st.Due(status.ReasonUnhealthy, proposed); o.LegacyRepair {
			st = methods.RepairByForce(st, due)
		} else {
			st = methods.Repair(st, due)
		}
		st = methods.Expire(st, st.Due(status.ReasonExpired, proposed))
		for i := range voluntary {
			switch reason := voluntary[(i+from.Turn)%len(voluntary)]; reason {
			case apiv1.DisruptionReasonEmpty:
				st = methods.Empty(st, st.Due(reason, proposed))
			case apiv1.DisruptionReasonDrifted:
				st = methods.Drift(st, st.Due(reason, proposed))
			case apiv1.DisruptionReasonUnderutilized:
				var waitsNow bool
				st, d.Cursor.Consolidation, waitsNow = consolidate.Run(st, st.Due(reason, proposed), d.Cursor.Consolidation)
				waits = waits || waitsNow
			}
		}
		if proposed {
			break
		}
		d.Commands = st.Commands
		if o.Static {
			st, d.Scaling = methods.Scale(st)
		}
	}
	d.Proposed = st.Commands[len(d.Commands):]
	d.Blocked, d.Budgets, d.Stats = st.Blocked(), st.Budgets, st.Stats
	d.Cursor.Consolidation.Results, d.Cursor.Consolidation.Known = d.Cursor.Consolidation.Known, nil
	if !waits {
		d.Cursor.Consolidation.WaitingSince = time.Time{}
	}
	if len(d.Commands) > 0 {
		d.Cursor.Turn = (from.Turn + 1) % len(voluntary)
	}
	return d
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
}

// Unchanged returns the cursor for a decision about the same cluster and the same offers of the cloud as the decision that returned c.
// Only time has passed. The decision then repeats verdicts of consolidation for 15 minutes (see consolidate.Results).
func (c Cursor) Unchanged() Cursor {
	c.Consolidation.Known = c.Consolidation.Results
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
