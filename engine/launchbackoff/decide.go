package launchbackoff

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A Finding is that a launch was of no use to a pod.
type Finding struct {
	Pod *model.Pod
	// Claim was launched for it, from Pool.
	Claim, Pool string
	// Why says what was wrong with the node.
	Why string
	// Times is how many launches in a row were of no use to the pod, this one included.
	Times int
	// Until is when the next may be made.
	Until time.Time
}

// Message tells the finding in a sentence.
func (f Finding) Message() string { return message(f.Times, f.Why, f.Until) }

func message(times int, why string, until time.Time) string {
	nodes := "a node"
	if times > 1 {
		nodes = fmt.Sprintf("%d nodes", times)
	}
	return fmt.Sprintf("%s came up for it in vain: %s; the next is launched at %s at the earliest",
		nodes, why, until.UTC().Format(time.TimeOnly))
}

// A Decision says which pods of a plan have to wait for their launch.
type Decision struct {
	// Wait are the keys of pods that the plan launches nodes for and that have to wait, each with the reason.
	Wait map[string]string
	// Findings are the launches that were found to be of no use, in the order of the plan.
	Findings []Finding
	// State is for the next call.
	State State
}

// Decide decides on the launches of a plan that was made as if no pod had to wait.
func Decide(st State, s *model.Snapshot, plan *model.Plan) Decision {
	d := Decision{Wait: map[string]string{}, State: st}
	var names map[string]bool
	expected := func() map[string]bool {
		if names == nil { // few pods have a history
			names = expectedNodes(plan)
		}
		return names
	}
	for i := range plan.Nodes {
		for _, p := range plan.Nodes[i].Pods {
			h, ok := d.State.histories[p.UID]
			if !ok {
				continue
			}
			if why, unused := h.outcome(s, expected); unused {
				claim := h.claim
				h = h.afterUnused(why, s.Now)
				d.record(p, h)
				d.Findings = append(d.Findings, Finding{
					Pod: p, Claim: claim, Pool: h.pool.Name, Why: why, Times: h.unused, Until: h.waitUntil,
				})
			}
			if s.Now.Before(h.waitUntil) {
				d.Wait[p.Key] = message(h.unused, h.reason, h.waitUntil)
			}
		}
	}
	return d
}

// record replaces the history of the pod in d.State. The map is copied before the first change.
func (d *Decision) record(p *model.Pod, h history) {
	if len(d.Findings) == 0 {
		d.State.histories = maps.Clone(d.State.histories)
	}
	d.State.histories[p.UID] = h
}

// afterUnused returns h after its last launch was found to be of no use.
func (h history) afterUnused(why string, now time.Time) history {
	h.unused++
	h.reason, h.waitUntil = why, now.Add(WaitAfter(h.unused))
	h.claim, h.emptied, h.taint = "", false, ""
	return h
}

// expectedNodes returns the names of the nodes that the plan places pending pods on.
func expectedNodes(plan *model.Plan) map[string]bool {
	names := map[string]bool{}
	for _, to := range plan.Placements {
		if slices.ContainsFunc(to.Pods, func(p *model.Pod) bool { return !p.Virtual() && !p.Bound() }) {
			names[to.Node.Name] = true
		}
	}
	return names
}

// outcome reports whether the last launch for the pod, which needs another place, was of no use to it, and why. The nodes in
// expected will be used.
func (h history) outcome(s *model.Snapshot, expected func() map[string]bool) (why string, unused bool) {
	n, ok := s.NodeByName(h.claim)
	switch {
	case h.claim == "":
		return "", false
	case h.taint != "":
		return "the pod does not tolerate taint " + h.taint, true
	case h.inherited:
		return "", false // the pod before may have run there
	case h.emptied:
		return "it was removed because it stayed empty", true
	case !ok || !n.Registered || n.Deleting || n.Disrupted() || len(n.Reschedulable()) > 0 || expected()[n.Name]:
		return "", false // the node is in flight, is used by other pods now or soon, or goes for another reason
	}
	return "the pod does not fit on it", true
}
