package launchbackoff

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A Finding is a launch that was unused by a pod (see the package comment).
type Finding struct {
	Pod *model.Pod
	// Claim is the claim that was launched for the pod, and Pool the name of its NodePool.
	Claim, Pool string
	// Why is the reason why the pod did not use the node, and Fix the change that helps. Both are parts of a sentence.
	Why, Fix string
	// Times is how many launches in a row were unused, including this one.
	Times int
	// Until is the earliest time of the next launch.
	Until time.Time
}

// Message returns the finding as a sentence.
func (f Finding) Message() string {
	return fmt.Sprintf("Node of NodeClaim %s was launched for this pod and is not used by it: %s (%s). "+
		"Next launch not before %s. Fix: %s",
		f.Claim, f.Why, units.Counted(f.Times, "attempt"), f.Until.UTC().Format(time.RFC3339), f.Fix)
}

// verdict returns the reason for which the pod gets no new node until f.Until.
func (f Finding) verdict() model.Verdict {
	return model.Verdict{Rule: model.RuleInvalid, Cause: model.CauseBackoff, Hint: f.Fix, Subject: fmt.Sprintf(
		"next launch not before %s: nodes were launched for this pod and not used by it (%s): %s",
		f.Until.UTC().Format(time.RFC3339), units.Counted(f.Times, "attempt"), f.Why)}
}

// A Decision is the result of Decide.
type Decision struct {
	// Wait are the keys of pods for which the plan launches nodes although they must wait, with the reason.
	Wait map[string]model.Verdict
	// Findings are the launches found unused by this call, in the order of the plan.
	Findings []Finding
	// State is the state for the next call.
	State State
}

// Decide returns which pods must not get the new nodes that the plan has for them. The plan is made as if no pod had to
// wait.
func Decide(st State, s *model.Snapshot, plan *model.Plan) Decision {
	d := Decision{Wait: map[string]model.Verdict{}, State: State{histories: maps.Clone(st.histories), orphaned: st.orphaned}}
	expected := expectedNodes(plan)
	for i := range plan.Nodes {
		for _, p := range plan.Nodes[i].Pods {
			h, ok := d.State.histories[p.UID]
			if !ok {
				continue
			}
			if why, fix, unused := h.outcome(s, expected); unused {
				times := h.last.Times + 1
				h.last = Finding{
					Pod: p, Claim: h.claim, Pool: h.pool.Name, Why: why, Fix: fix, Times: times, Until: s.Now.Add(WaitAfter(times)),
				}
				h.claim, h.emptied, h.taint = "", false, ""
				d.State.histories[p.UID] = h
				d.Findings = append(d.Findings, h.last)
			}
			if s.Now.Before(h.last.Until) {
				d.Wait[p.Key] = h.last.verdict()
			}
		}
	}
	return d
}

// expectedNodes returns the names of the nodes on which the plan places pending pods.
func expectedNodes(plan *model.Plan) map[string]bool {
	names := map[string]bool{}
	for _, to := range plan.Placements {
		if slices.ContainsFunc(to.Pods, func(p *model.Pod) bool { return !p.Virtual() && !p.Bound() }) {
			names[to.Node.Name] = true
		}
	}
	return names
}

// outcome reports whether the last launch for a pending pod was unused, and why. expected are the nodes that other
// pods will use.
func (h history) outcome(s *model.Snapshot, expected map[string]bool) (why, fix string, unused bool) {
	n, ok := s.NodeByName(h.claim)
	switch {
	case h.claim == "":
		return "", "", false
	case h.taint != "":
		return "taint " + h.taint + " is not tolerated",
			"declare the taint in spec.template.spec.taints of NodePool " + h.pool.Name + ", or tolerate it in the pod", true
	case h.inherited:
		return "", "", false // the pod that had this history before may have run there
	case h.emptied:
		return "the node was deleted as empty before the pod was bound",
			"raise spec.disruption.consolidateAfter of NodePool " + h.pool.Name, true
	case !ok || !n.Registered || n.Deleting || n.Disrupted() || len(n.Reschedulable()) > 0 || expected[n.Name]:
		return "", "", false // the outcome is not known yet, other pods use the node now or soon, or it was removed for another reason
	}
	return "the pod does not fit on the node",
		"compare the requests of the pod with status.allocatable of node " + n.Name, true
}
