package methods

import (
	"fmt"
	"slices"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// replace accepts a command that replaces a drifted or unhealthy node, or reboots it, or returns why that is not possible. cmd
// has its reason and method, and the repair of an unhealthy node.
func replace(st *problem.State, c *problem.Candidate, cmd model.Command) model.Verdict {
	set := []*problem.Candidate{c}
	if v := st.Allow(set, cmd.Reason); !v.OK() {
		return v // earlier nodes may have used up the budget
	}
	switch {
	case cmd.Reboots():
		return st.Accept(cmd, c)
	case c.Pool.Static():
		return replaceDueStatic(st, c, cmd)
	}
	p := st.WhatIf(st.Cluster, set)
	planned, v := p.Command(cmd.Reason, cmd.Method), p.Verdict
	if planned.Repair = cmd.Repair; cmd.Repair != nil {
		v = unplaced(st, p)
	}
	if !v.OK() {
		planned, v = terminateFirst(st, c, cmd, v)
	}
	if !v.OK() {
		return v
	}
	return st.Accept(planned, c)
}

// mayTerminateFirst reports whether the options allow nodes that are disrupted for the reason to be terminated before
// they are replaced.
func mayTerminateFirst(st *problem.State, reason apiv1.DisruptionReason) bool {
	return slices.Contains(st.Problem.Options.TerminateFirst, reason)
}

// terminateFirst returns cmd, which has a reason and a method, as the command that terminates a node of a dynamic
// NodePool before capacity for its pods is launched. The node must run in a full capacity reservation, and its pods
// must lack only the instance that becomes free when the node is terminated. Otherwise the verdict is blocked, the
// reason why the node cannot be replaced first. If only mayRefill refuses, the verdict is that of mayRefill.
func terminateFirst(
	st *problem.State, c *problem.Candidate, cmd model.Command, blocked model.Verdict,
) (model.Command, model.Verdict) {
	id := st.Problem.ReservationOf(c)
	if !mayTerminateFirst(st, cmd.Reason) || id == "" || !st.ReservationFull(c.Pool, id) {
		return cmd, blocked
	}
	p := st.WhatIfTerminated(c, id)
	if !p.Verdict.OK() {
		return cmd, blocked
	}
	planned := p.Command(cmd.Reason, cmd.Method)
	cmd.Placements, cmd.Saves, cmd.TerminateFirst = planned.Placements, planned.Saves, model.TerminateFirstReservation
	return cmd, mayRefill(st, c, cmd.Reason)
}

// mayRefill returns a refusal if the NodePool would not soon have another node after this one is terminated, or if the drain
// of a drifted node could last forever.
//
// Nodes of the NodePool that are missing or not initialized use up the budget. So do nodes that are being deleted but that
// budgets do not count, because their instance is being terminated. Otherwise the next node would be terminated while the
// one before it is still being replaced.
func mayRefill(st *problem.State, c *problem.Candidate, reason apiv1.DisruptionReason) model.Verdict {
	if v := launchable(c.Pool); !v.OK() {
		return v
	}
	m, missing := membersOf(st, c.Pool), st.Starting[c.Pool.Name]
	if c.Pool.Static() {
		missing += max(0, int(*c.Pool.Object.Spec.Replicas)-len(m.active)-m.pending-(m.deleting-m.uncounted))
	} else {
		missing += m.uncounted
	}
	if v := st.Budgets.Allow(slices.Repeat([]string{c.Pool.Name}, 1+min(missing, maxLaunches)), reason); !v.OK() {
		return v
	}
	if reason != apiv1.DisruptionReasonDrifted {
		return model.Verdict{} // the drain of an unhealthy node has a bound of its own
	}
	return st.MayEvictAtOnce(c)
}

// launchable returns a refusal if the pool launches no nodes, because it is being deleted or not ready.
func launchable(pool *model.Pool) model.Verdict {
	v := pool.Ready()
	if v.OK() {
		return v
	}
	return model.Verdict{Rule: model.RuleNoPlace, Subject: fmt.Sprintf(
		"NodePool %q would not launch another node: it %s", pool.Name, v)}
}
