package disrupt

import (
	"strings"

	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/consolidate"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Options tunes Decide. The zero value works. It is declared in problem, because all methods read it.
type Options = problem.Options

// A RepairPolicy says that a node is repaired once its condition Type has been Status for Toleration.
type RepairPolicy = problem.RepairPolicy

// A Cursor says where the next decision goes on. The zero Cursor begins. If it is lost, some nodes stay longer.
type Cursor struct {
	// Turn rotates which voluntary method comes first.
	Turn int
	// Consolidation is the part of consolidation.
	Consolidation consolidate.Cursor
}

// A Decision is what disruption does now, and a verdict for every managed node that it leaves alone.
type Decision struct {
	// Commands are to be carried out, in this order.
	Commands []model.Command
	// Proposed are commands that the mode of a NodePool holds back. They are reported, and not carried out.
	Proposed []model.Command
	// Blocked are all other managed nodes, in name order.
	Blocked []model.Blocked
	// Launches are nodes that static NodePools lack, Surplus those that they have too many of.
	Launches []model.PlannedNode
	Surplus  []*model.Node
	// Budgets are as they stand once the commands are done.
	Budgets *budget.NodePools
	// Cursor is for the next decision.
	Cursor Cursor
	Stats  problem.Stats
}

// String renders the decision for tests.
func (d Decision) String() string {
	var b strings.Builder
	for _, n := range d.Launches {
		b.WriteString("launch " + n.Pool.Name + " " + n.Options[0].Name + "\n")
	}
	for _, n := range d.Surplus {
		b.WriteString("surplus " + n.Name + "\n")
	}
	for _, c := range d.Commands {
		b.WriteString(c.String() + "\n")
	}
	for _, c := range d.Proposed {
		b.WriteString("proposed: " + c.String() + "\n")
	}
	for _, x := range d.Blocked {
		b.WriteString("blocked " + x.Node.Name + ": " + x.Verdict.String() + "\n")
	}
	return b.String()
}
