package backtest

import (
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A Planner makes the decisions of one replay. The replay calls it from one goroutine, with snapshots in the order of
// time, and carries out what it returns. If a Policy has no Planner, the engine decides as in
// this project's controller.
type Planner interface {
	// Plan assigns the pending pods of s to its nodes and to nodes to be launched.
	Plan(s *model.Snapshot) (*model.Plan, error)
	// Disrupt returns the nodes that are to be removed. If more is true, the commands are begun and Disrupt is called
	// again at the same time. A call without commands is the last one in any case.
	Disrupt(s *model.Snapshot) (commands []model.Command, more bool, err error)
	// Revalidate returns, by the names of the nodes, whether their disruption is still valid. A node without an entry
	// counts as valid. The replay calls it when the replacements have joined, and cancels the disruption of the nodes for
	// which it is not.
	Revalidate(s *model.Snapshot, nodes []*model.Node) map[string]model.Verdict
}

// engine is the Planner with the decisions of this project's controller.
type engine struct {
	options disrupt.Options
	cursor  disrupt.Cursor
}

func (e *engine) Plan(s *model.Snapshot) (*model.Plan, error) {
	return pack.Solve(s, e.options.Pack), nil
}

func (e *engine) Disrupt(s *model.Snapshot) (commands []model.Command, more bool, err error) {
	d := disrupt.Decide(s, e.options, e.cursor)
	e.cursor = d.Cursor
	return d.Commands, false, nil
}

func (e *engine) Revalidate(s *model.Snapshot, nodes []*model.Node) map[string]model.Verdict {
	return disrupt.Revalidate(s, nodes, e.options.Pack)
}
