package decisions

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// Commanded returns the episode of a disruption command. launched has the NodeClaims of its replacements. blocked has the nodes
// that the same decision keeps.
func Commanded(s *model.Snapshot, cmd *model.Command, launched []Launched, blocked []model.Blocked) Episode {
	e := Episode{
		Kind: KindDisruption, Reason: string(cmd.Reason), Action: cmd.Decision(), Decision: cmd.String(), Pools: []string{},
		EvictionsPlanned: cmd.Moves(), Pods: cmd.Moves(), DollarsBefore: Dollars(s), Refused: Kept(blocked), RefusedTotal: len(blocked),
	}
	e.DollarsAfter = e.DollarsBefore - cmd.Saves
	for _, n := range cmd.Nodes {
		e.remove(s, n)
	}
	for _, l := range launched {
		e.launch(l)
	}
	for _, p := range cmd.Placements {
		e.Placed += len(p.Pods)
	}
	if cmd.Reboots() {
		e.DollarsAfter = e.DollarsBefore // the node stays
	}
	e.Cause = causeOf(cmd)
	return e
}

// causeOf returns why a command disrupts its nodes.
func causeOf(cmd *model.Command) string {
	nodes := units.Counted(len(cmd.Nodes), "node")
	switch {
	case cmd.Repair != nil:
		return fmt.Sprintf("condition %s=%s of the node matches a repair policy", cmd.Repair.Condition, cmd.Repair.Status)
	case cmd.Method == "empty":
		return nodes + " without pods that would have to move"
	case cmd.Method == "drift":
		return nodes + " differing from the NodePool or the node class (condition Drifted)"
	case cmd.Method == "expiry":
		return "spec.expireAfter has elapsed"
	case cmd.Method == "static":
		return "the static NodePool has other nodes than spec.replicas"
	case cmd.Method == "single", cmd.Method == "multi":
		return fmt.Sprintf("the pods of %s cost less elsewhere", nodes)
	case cmd.Force:
		return "the node does not work any more"
	}
	return string(cmd.Reason)
}

// Kept returns one refusal for each node that a decision keeps, sorted by descending waste and cut at maxRefused.
func Kept(blocked []model.Blocked) []Refusal {
	by := slices.Clone(blocked)
	slices.SortStableFunc(by, func(a, b model.Blocked) int { return cmp.Compare(b.Waste, a.Waste) })
	var out []Refusal
	for _, b := range by[:min(len(by), maxRefused)] {
		fix, known := explain.Fix(b.Verdict)
		if !known {
			fix = ""
		}
		out = append(out, Refusal{
			Subject: "node " + b.Node.Name, Count: 1, Reason: b.Verdict.String(), Fix: fix, DollarsPerHour: b.Waste,
		})
	}
	return out
}

// Withheld returns nodes that are planned but not launched, as one refusal for each NodePool. reason is a sentence without a full
// stop.
func Withheld(nodes []model.PlannedNode, reason string) []Refusal {
	var out []Refusal
	index := map[string]int{}
	for i := range nodes {
		pool := nodes[i].Pool.Name
		at, there := index[pool]
		if !there {
			at = len(out)
			index[pool] = at
			out = append(out, Refusal{Subject: "new node of NodePool " + pool, Reason: reason})
		}
		out[at].Count++
		out[at].DollarsPerHour += nodes[i].Price()
	}
	return out
}

// Refused returns the refusal of equal pods, of which there must be at least one. Its Reason has the words of their event.
func Refused(pods []*model.Pod, f explain.Finding) Refusal {
	reason := f.Why
	if f.Pool != "" {
		reason = fmt.Sprintf("NodePool %q: %s", f.Pool, f.Why)
	}
	return Refusal{Subject: "pod " + pods[0].Key, Count: len(pods), Reason: reason, Fix: f.Fix}
}
