package methods

import (
	"fmt"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/engine/units"
)

// maxUnhealthyPercent is the unhealthy share of a NodePool, rounded up, up to which budgets alone bound repair. If more
// nodes are unhealthy, the cause is probably outside the nodes. Then one node is repaired at a time, and the next one
// only after the replacement is initialized and healthy.
const maxUnhealthyPercent = 20

// tooMany reports whether more than maxUnhealthyPercent of the nodes are unhealthy.
func tooMany(unhealthy, nodes int) bool { return unhealthy > (nodes*maxUnhealthyPercent+99)/100 }

// A poolHealth is the state of repair in one NodePool. All of it is computed from nodes and claims, so a restart does
// not change it.
//
// A repair fails if its command was rolled back, or if the node that it launched is itself unhealthy within 24 hours.
// After n failures in 24 hours, repair of the NodePool pauses for repair.Pause(n) from the latest one.
type poolHealth struct {
	name             string
	nodes, unhealthy int
	// inRepair is a node that is being repaired or that repair launches. It is empty if there is none.
	inRepair string
	// failures counts failed repairs. lastFailedNode is the node of the latest one, and lastFailure is when it failed.
	failures       int
	lastFailedNode string
	lastFailure    time.Time
}

// healthOf returns the state of repair in each NodePool.
func healthOf(st *problem.State) map[string]*poolHealth {
	health := map[string]*poolHealth{}
	for _, c := range st.Problem.Candidates {
		if health[c.Node.Pool] == nil {
			health[c.Node.Pool] = &poolHealth{name: c.Node.Pool}
		}
		if c.Node.Claim != nil {
			health[c.Node.Pool].add(st.Problem.Options.Repair, c.Node, st.Problem.Snapshot.Now)
		}
	}
	return health
}

// add adds one node to the counts, its failed repairs to the failures, and sets inRepair if the node's repair is in progress.
func (h *poolHealth) add(policies *repair.Policies, n *model.Node, now time.Time) {
	inProgress := n.Rebooting() || status.Disrupting(n) && status.Reason(n) == status.ReasonUnhealthy
	h.countRollbacks(n, inProgress || n.Deleting, now)
	faulty, since := unhealthy(policies, n, now)
	attempt := repair.Attempt(n.Claim, now)
	switch {
	case inProgress && (!n.Deleting || len(status.ReplacedBy(n.Claim)) == 0):
		h.inRepair = n.Name
	case n.Deleting || attempt == 0:
	case faulty && !inProgress:
		h.addFailures(attempt, n.Name, since)
	case !n.Initialized && !status.Overdue(n, now):
		h.inRepair = n.Name
	}
	if n.Object != nil && !n.Deleting {
		h.nodes++
		if faulty {
			h.unhealthy++
		}
	}
}

// countRollbacks counts the repairs of the node that were rolled back: all but the one in progress.
func (h *poolHealth) countRollbacks(n *model.Node, inProgress bool, now time.Time) {
	var begun []time.Time
	for _, e := range repair.History(n.Claim, now) {
		if e.Action == repair.ReplaceNode {
			begun = append(begun, e.At)
		}
	}
	if inProgress && len(begun) > 0 {
		begun = begun[:len(begun)-1]
	}
	for _, at := range begun {
		h.addFailures(1, n.Name, at)
	}
}

// addFailures adds failures to the count. The latest of them is of the node, at the time at.
func (h *poolHealth) addFailures(failures int, node string, at time.Time) {
	h.failures += failures
	if h.lastFailure.IsZero() || at.After(h.lastFailure) {
		h.lastFailedNode, h.lastFailure = node, at
	}
}

// unhealthy reports whether a policy matches a condition of the node, and the earliest time at which a matching policy
// allows repair. Every node is not ready while it starts. So a node that is not initialized is unhealthy only from that
// time.
func unhealthy(policies *repair.Policies, n *model.Node, now time.Time) (faulty bool, at time.Time) {
	for _, m := range policies.Matches(n.Object, n.Claim) {
		if !faulty || m.EligibleAt.Before(at) {
			faulty, at = true, m.EligibleAt
		}
	}
	return faulty && (n.Initialized || !now.Before(at)), at
}

// allow returns a refusal if the repair of no node of the NodePool may begin now. It does not check the budgets.
func (h *poolHealth) allow(now time.Time) model.Verdict {
	until := h.lastFailure.Add(repair.Pause(h.failures))
	switch {
	case h.failures > 0 && now.Before(until):
		return h.refuse(fmt.Sprintf("node repair of NodePool %q is paused until %s: %s, the latest of node %s",
			h.name, until.UTC().Format(time.RFC3339), units.Counted(h.failures, "repair")+" in 24h did not help", h.lastFailedNode))
	case tooMany(h.unhealthy, h.nodes) && h.inRepair != "":
		return h.refuse(fmt.Sprintf("node repair of NodePool %q is limited to one node at a time, now %s: %d of %d nodes are unhealthy, more than %d%%",
			h.name, h.inRepair, h.unhealthy, h.nodes, maxUnhealthyPercent))
	}
	return model.Verdict{}
}

func (h *poolHealth) refuse(why string) model.Verdict {
	return model.Verdict{Rule: model.RuleUnhealthy, Key: h.name, Subject: why}
}

// RepairByForce removes with force the nodes that are unhealthy for longer than a policy tolerates, as upstream Karpenter did
// before 1.15. Budgets, do-not-disrupt and PodDisruptionBudgets are ignored, and replacements are launched afterwards for the
// pods. If more than 20% (rounded up) of the nodes of a NodePool are unhealthy, none of them is removed. Nodes in zones from which
// traffic is shifted away are not removed either. A node that is being deleted is removed with force too if its drain has no
// deadline. So a removal is completed whose deadline was not written, because the process ended.
func RepairByForce(from *problem.State, candidates []*problem.Candidate) *problem.State {
	st := from.Clone()
	policies := st.Problem.Options.Repair.Replacing()
	unhealthy, all := map[string]int{}, map[string]int{}
	for _, c := range st.Problem.Candidates {
		if c.Node.Deleting || c.Node.Object == nil {
			continue
		}
		all[c.Node.Pool]++
		if len(policies.Matches(c.Node.Object, c.Node.Claim)) > 0 {
			unhealthy[c.Node.Pool]++
		}
	}
	for _, c := range candidates {
		if c.Node.Object == nil || c.Node.Claim == nil || c.Node.Deleting && hasDeadline(c.Node.Claim) {
			continue
		}
		matches := policies.Matches(c.Node.Object, c.Node.Claim)
		if _, _, ok := policies.Decide(matches, st.Problem.Snapshot.Now); !ok {
			continue
		}
		n, k := all[c.Node.Pool], unhealthy[c.Node.Pool]
		if tooMany(k, n) {
			st.BlockFinally(c, model.Verdict{Rule: model.RuleUnhealthy, Subject: fmt.Sprintf(
				"node repair is suspended: %d of %d nodes of NodePool %q are unhealthy, more than %d%%", k, n, c.Node.Pool, maxUnhealthyPercent)})
			continue
		}
		if v := st.Problem.MayTerminateInZone(c.Node); !v.OK() {
			st.BlockFinally(c, v)
			continue
		}
		st.Accept(model.Command{Reason: status.ReasonUnhealthy, Method: "repair", Saves: c.Price, Force: true}, c)
	}
	return st
}

// hasDeadline reports whether the drain of a claim that is being deleted has a time limit, or will have one.
func hasDeadline(claim *apiv1.NodeClaim) bool {
	return claim.Spec.TerminationGracePeriod != nil || claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] != ""
}
