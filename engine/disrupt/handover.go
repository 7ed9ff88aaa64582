package disrupt

import (
	"cmp"
	"slices"
	"strconv"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Handover is a command whose nodes hand their pods over to several places: first to room that is there, then to one
// replacement after the other. A replacement takes no pods until it is its turn, so that the scheduler, which knows nothing of
// the plan, finds no room but the room meant for those who move just then.
type Handover struct {
	// Command names the claims that are replaced, as their replacements do.
	Command string
	// Next is the replacement to open next.
	Next *model.Node
	// Moving is how many pods still have to leave for places that are open. Next is due when there are none.
	Moving int
	// Due says that Next is to be opened whatever is moving: nobody hands over to it any more, or pods that found no other
	// room wait for it.
	Due bool
	// Begun says that one of the nodes is on its way out.
	Begun bool
}

// Handovers returns what is under way, in the order of commands. Promises of s tell which pods go where.
func Handovers(s *model.Snapshot) []Handover {
	closed := map[string][]*model.Node{}
	for _, n := range s.Nodes() {
		if n.Reserved() && !n.Deleting {
			command := n.Claim.Annotations[apiv1.ReplacesAnnotationKey]
			closed[command] = append(closed[command], n)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	asked := map[string]bool{} // by pods that wait
	for _, p := range s.Pending() {
		if n, ok := s.NodeByName(s.PromiseOf(p)); ok && n.Reserved() && !p.Virtual() {
			asked[n.Name] = true
		}
	}
	var out []Handover
	for command, nodes := range closed {
		slices.SortFunc(nodes, func(a, b *model.Node) int {
			return cmp.Or(cmp.Compare(turn(a), turn(b)), cmp.Compare(a.Name, b.Name))
		})
		h := Handover{Command: command, Next: nodes[0]}
		if i := slices.IndexFunc(nodes, func(n *model.Node) bool { return asked[n.Name] }); i >= 0 {
			h.Next, h.Due = nodes[i], true
		}
		h.count(s)
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Handover) int { return cmp.Compare(a.Command, b.Command) })
	return out
}

// count sets what is left to move, and whether anybody is left to move it.
func (h *Handover) count(s *model.Snapshot) {
	there := false
	for _, name := range names(h.Command) {
		n, ok := s.NodeByName(name)
		if claim, known := s.Claim(name); !ok || !known || n.Claim != claim {
			continue
		}
		there = true
		if !n.Deleting {
			continue
		}
		h.Begun = true
		for _, p := range n.Reschedulable() {
			if p.Object.DeletionTimestamp == nil && !Awaits(s, p) {
				h.Moving++
			}
		}
	}
	h.Due = h.Due || !there
}

// Awaits reports whether the pod is to leave for a node that is not open yet.
func Awaits(s *model.Snapshot, p *model.Pod) bool {
	n, ok := s.NodeByName(s.PromiseOf(p))
	return ok && n.Reserved() && !n.Deleting
}

// turn is the place of the replacement in the order of its command.
func turn(n *model.Node) int {
	i, err := strconv.Atoi(n.Claim.Annotations[apiv1.TurnAnnotationKey])
	if err != nil {
		return 0
	}
	return i
}
