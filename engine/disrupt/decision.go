package disrupt

import (
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/consolidate"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

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
// Only time has passed. The decision then repeats verdicts of consolidation for 15 minutes (see consolidate.Verdicts).
func (c Cursor) Unchanged() Cursor {
	c.Consolidation.Known = c.Consolidation.Verdicts
	return c
}

// Same reports whether both lead to the same next decision. Verdicts only save work.
func (c Cursor) Same(other Cursor) bool {
	for _, x := range []*Cursor{&c, &other} {
		x.Consolidation.Verdicts, x.Consolidation.Known = nil, nil
	}
	return c == other
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
	// Launches are the nodes to launch for static NodePools with fewer nodes than replicas. Surplus are the nodes to delete
	// of static NodePools with more. Both are empty unless Options.Static is set.
	Launches []model.PlannedNode
	Surplus  []*model.Node
	// Budgets is the state of the budgets after Commands and Proposed.
	Budgets *budget.NodePools
	Cursor  Cursor
	Stats   problem.Stats
}
