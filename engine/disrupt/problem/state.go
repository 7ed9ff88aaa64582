package problem

import (
	"maps"
	"slices"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// A State is the intermediate result of a decision. Methods change a clone of it and return the clone.
type State struct {
	Problem *Problem
	// Cluster is the Snapshot after everything in progress and all accepted commands are finished. It has no pending
	// pods. Nodes that must not receive pods are closed (Snapshot.Close).
	Cluster *model.Snapshot
	// Expected are the placements of pending and displaced pods on nodes and claims that exist. They are bound in Cluster.
	Expected []model.Placement
	// Budgets are the remaining disruption budgets of NodePools.
	Budgets *budget.NodePools
	// Commands are the accepted commands, in order.
	Commands []model.Command
	// Gain is the sum of the net gains of accepted consolidations, in dollars.
	Gain  float64
	Stats Stats
	// Launching is how many replacements the commands launch in each NodePool. Starting is how many of its nodes are not
	// initialized or are planned for pending pods; commands do not change it.
	Launching, Starting map[string]int

	evicted   budget.Taken
	nodes     []nodeState // by candidate
	voluntary int         // nodes removed by voluntary commands
	planned   int         // number of replacements so far, used in their names
}

// Stats are statistics of how a decision was made.
type Stats struct {
	// WhatIfs is how many what-ifs were packed. Screened is how many candidates were first evaluated in the reduced
	// cluster.
	WhatIfs, Screened int
	// Eligible is how many nodes could be disrupted for each reason if budgets had no bound.
	Eligible map[apiv1.DisruptionReason]int
	// Moves are the consolidations that pay, for each NodePool from which they remove nodes.
	Moves []Move
	// Headroom is the sum of the requests of virtual pods of capacity buffers that are placed on candidates, by node name.
	Headroom map[string]model.Resources
	// Exhausted is true if Options.MaxWhatIfs was reached.
	Exhausted bool
	// Panics are panics of the packer, at most maxPanics. The pods of such a plan are refused.
	Panics []pack.Panic
}

// A Move is one consolidation, with its score for one of the NodePools from which it removes nodes.
type Move struct {
	Pool   string
	Policy apiv1.ConsolidationPolicy
	// Approved is true if no NodePool rejects the move.
	Approved bool
	// Scored is true if Policy is Balanced. Then Score is (saving / price of the pool's nodes) / (disruption by the
	// move / disruption by removing all nodes of the pool), +Inf if the move disrupts nothing. ScoreApproved is true if
	// this NodePool does not reject the move.
	Scored, ScoreApproved bool
	Score                 float64
}

// A nodeState is the state of one candidate in a decision.
type nodeState struct {
	// removed is true if a command removes the node. incoming is true if pods are assigned to it, so it must stay.
	removed, incoming bool
	// buffer is a capacity buffer of which a virtual pod is placed on the node, empty if there is none.
	buffer string
	// verdict is the reason why the node stays. If final, Block does not replace it.
	verdict model.Verdict
	final   bool
}

// Clone returns a copy that can be changed independently.
func (st *State) Clone() *State {
	c := *st
	c.Budgets = st.Budgets.Clone()
	c.Commands = slices.Clip(st.Commands)
	c.Stats.Eligible, c.Stats.Moves = maps.Clone(st.Stats.Eligible), slices.Clip(st.Stats.Moves)
	c.Stats.Headroom, c.Stats.Panics = maps.Clone(st.Stats.Headroom), slices.Clip(st.Stats.Panics)
	c.nodes, c.Launching = slices.Clone(st.nodes), maps.Clone(st.Launching)
	return &c
}

// Taken reports whether a command removes the candidate.
func (st *State) Removed(c *Candidate) bool { return st.nodes[c.index].removed }

// Remove records that the candidate is removed.
func (st *State) Remove(c *Candidate) { st.nodes[c.index].removed = true }

// Headroom returns the CapacityBuffer whose virtual pods are placed on the candidate, empty if there is none.
func (st *State) Headroom(c *Candidate) string { return st.nodes[c.index].buffer }

// Incoming returns a refusal if pods are assigned to the candidate.
func (st *State) Incoming(c *Candidate) model.Verdict {
	if st.nodes[c.index].incoming {
		return model.Verdict{Rule: model.RuleNominated}
	}
	return model.Verdict{}
}

// Block records why a method does not remove the candidate. A later method may replace the verdict.
func (st *State) Block(c *Candidate, v model.Verdict) {
	if n := &st.nodes[c.index]; !n.final {
		n.verdict = v
	}
}

// BlockFinally records why a method does not remove a candidate that is due. Later methods do not replace the verdict.
func (st *State) BlockFinally(c *Candidate, v model.Verdict) {
	n := &st.nodes[c.index]
	n.verdict, n.final = v, true
}

// Blocked returns the candidates that no command removes, with their verdicts, in name order. A candidate for which no
// method recorded a verdict gets that of MayDisrupt, or RuleNotDue if that is OK.
func (st *State) Blocked() []model.Blocked {
	var out []model.Blocked
	for _, c := range st.Problem.Candidates {
		if st.Removed(c) {
			continue
		}
		v := st.nodes[c.index].verdict
		if v.OK() {
			v = st.Problem.MayDisrupt(c)
		}
		if v.OK() {
			v = model.Verdict{Rule: model.RuleNotDue}
		}
		out = append(out, model.Blocked{Node: c.Node, Verdict: v, Waste: max(0, c.Waste())})
	}
	return out
}

// Exhausted reports whether Options.MaxWhatIfs is reached.
func (st *State) Exhausted() bool { return st.Stats.WhatIfs >= st.Problem.Options.MaxWhatIfs }

// Executable returns the candidates that no command removes yet and whose NodePool's mode allows commands for the reason to be
// executed.
func (st *State) Executable(reason apiv1.DisruptionReason) []*Candidate {
	return slices.DeleteFunc(slices.Clone(st.Problem.Candidates), func(c *Candidate) bool {
		return st.Removed(c) || st.Problem.onlyProposed(c, reason)
	})
}

// OnlyProposed returns the candidates that no command removes yet and whose NodePool's mode allows commands for the reason only to
// be reported.
func (st *State) OnlyProposed(reason apiv1.DisruptionReason) []*Candidate {
	return slices.DeleteFunc(slices.Clone(st.Problem.Candidates), func(c *Candidate) bool {
		return st.Removed(c) || !st.Problem.onlyProposed(c, reason)
	})
}

// onlyProposed reports whether the mode of the candidate's NodePool prevents the execution of commands for the reason. Mode
// DryRun always does. Mode Approve does for voluntary reasons, until the node has the annotation of approval.
func (p *Problem) onlyProposed(c *Candidate, reason apiv1.DisruptionReason) bool {
	if c.Pool == nil {
		return false
	}
	switch c.Pool.Mode(p.Options.Mode) {
	case apiv1.ModeDryRun:
		return true
	case apiv1.ModeApprove:
		return !status.Forced(reason) && (c.Node.Object == nil || c.Node.Object.Annotations[apiv1.DisruptionApprovedAnnotationKey] != "true")
	}
	return false
}
