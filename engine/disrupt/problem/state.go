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

// A State is how far a decision has come. Methods change a clone of it and return that.
type State struct {
	Problem *Problem
	// Cluster is the Snapshot once everything that is under way and all commands so far are done. No pod is pending in it,
	// and nodes that must not receive pods are unschedulable.
	Cluster *model.Snapshot
	// Budgets are what the disruption budgets of NodePools still allow.
	Budgets *budget.NodePools
	// Commands are those that were accepted, in order.
	Commands []model.Command
	// Gain is what accepted consolidations gain net, in dollars.
	Gain  float64
	Stats Stats

	evicted   budget.Taken
	nodes     []nodeState    // by candidate
	launching map[string]int // replacements so far, by NodePool
	voluntary int            // nodes taken by voluntary commands
	planned   int            // replacements so far, which numbers their names
	last      done           // what the last command changes
}

// Stats count how a decision came about.
type Stats struct {
	// WhatIfs is how many hypotheses were packed, Screened how many were packed in the reduced cluster first.
	WhatIfs, Screened int
	// Eligible is how many nodes each reason could take if budgets allowed all.
	Eligible map[apiv1.DisruptionReason]int
	// Scores are those of consolidations from NodePools with consolidationPolicy Balanced.
	Scores []Score
	// Exhausted says that MaxWhatIfs was reached.
	Exhausted bool
	// Panics are those of the packer, at most maxPanics of them. The pods of such a plan have no place.
	Panics []pack.Panic
}

// A Score is that of one move for one NodePool.
type Score struct {
	Pool string
	// Value is (saved / cost of the pool) / (disturbed / all that could be disturbed in the pool); +Inf if the move disturbs
	// nothing.
	Value    float64
	Approved bool
}

// A nodeState is what a decision knows of one candidate so far.
type nodeState struct {
	// taken says that a command removes the node, incoming that pods are on their way to it.
	taken, incoming bool
	// buffer is the capacity buffer that the node has room for, empty if there is none.
	buffer string
	// verdict is why the node stays if it is not taken. A final one is not replaced by later methods.
	verdict model.Verdict
	final   bool
}

// Clone returns a copy that can be changed by itself.
func (st *State) Clone() *State {
	c := *st
	c.Budgets = st.Budgets.Clone()
	c.Commands = slices.Clip(st.Commands)
	c.Stats.Eligible, c.Stats.Scores = maps.Clone(st.Stats.Eligible), slices.Clip(st.Stats.Scores)
	c.nodes, c.launching = slices.Clone(st.nodes), maps.Clone(st.launching)
	return &c
}

// Taken reports whether a command removes the candidate.
func (st *State) Taken(c *Candidate) bool { return st.nodes[c.index].taken }

// Remove takes a candidate without a command.
func (st *State) Remove(c *Candidate) { st.nodes[c.index].taken = true }

// Incoming is a yes if no pods are on their way to the candidate.
func (st *State) Incoming(c *Candidate) model.Verdict {
	if st.nodes[c.index].incoming {
		return model.Verdict{Rule: model.RuleNominated}
	}
	return model.Verdict{}
}

// Block notes why a method does not take the candidate. A later method may replace the verdict.
func (st *State) Block(c *Candidate, v model.Verdict) {
	if n := &st.nodes[c.index]; !n.final {
		n.verdict = v
	}
}

// BlockFinally notes why a method does not take the candidate although it is due, whatever later methods say.
func (st *State) BlockFinally(c *Candidate, v model.Verdict) {
	n := &st.nodes[c.index]
	n.verdict, n.final = v, true
}

// Blocked returns the candidates that no command takes, with their verdicts, in name order.
func (st *State) Blocked() []model.Blocked {
	var out []model.Blocked
	for _, c := range st.Problem.Candidates {
		if st.Taken(c) {
			continue
		}
		v := st.nodes[c.index].verdict
		if v.OK() {
			v = st.Problem.MayDisrupt(c)
		}
		if v.OK() {
			v = model.Verdict{Rule: model.RuleNotDue}
		}
		out = append(out, model.Blocked{Node: c.Node, Verdict: v, Worth: max(0, c.Waste())})
	}
	return out
}

// CountEligible notes how many nodes a reason could take if budgets allowed all.
func (st *State) CountEligible(reason apiv1.DisruptionReason, n int) { st.Stats.Eligible[reason] += n }

// Exhausted reports whether no more hypotheses may be packed for consolidation.
func (st *State) Exhausted() bool { return st.Stats.WhatIfs >= st.Problem.Options.MaxWhatIfs }

// Launching returns how many replacements from the NodePool the commands launch.
func (st *State) Launching(pool string) int { return st.launching[pool] }

// Due returns the candidates that no command takes yet: those whose commands for the reason are carried out, or those
// whose commands the mode of their NodePool only proposes.
func (st *State) Due(reason apiv1.DisruptionReason, proposed bool) []*Candidate {
	var due []*Candidate
	for _, c := range st.Problem.Candidates {
		if !st.Taken(c) && st.Problem.onlyProposed(c, reason) == proposed {
			due = append(due, c)
		}
	}
	return due
}

// onlyProposed reports whether the mode of the candidate's NodePool keeps a command for the reason from being carried out.
// In mode Approve forced disruption needs no approval.
func (p *Problem) onlyProposed(c *Candidate, reason apiv1.DisruptionReason) bool {
	if c.Pool == nil {
		return false
	}
	switch c.Pool.Mode(p.Options.Mode) {
	case apiv1.ModeDryRun:
		return true
	case apiv1.ModeApprove:
		return !status.Forced(reason) && (c.Node.Object == nil || c.Node.Object.Annotations[apiv1.ApprovedAnnotationKey] != "true")
	}
	return false
}
