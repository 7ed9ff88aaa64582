package disrupt

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Handover is how far nodes on their way out have come with handing over their pods to several places: first to room that is
// there, node by node, then to one replacement after the other. A place takes no pods until it is its turn, so that the
// scheduler, which knows nothing of the plan, finds no room but the room meant for those who move just then.
type Handover struct {
	// Next is the node to open next, when nothing is Moving; nil if nobody gives pods away just now.
	Next *model.Node
	// Moving are the pods that still have to leave for places that are open, or not known, and those that wait for the scheduler's
	// first look: the successors of those that have left are among them.
	Moving []*model.Pod
	// Due are nodes to be opened whatever is moving, in name order: nobody will give pods to them any more, or pods that
	// found no other room wait for them. One that is open may be among them, if whoever opened it was stopped half way: its
	// claim still says whose pods it takes.
	Due []*model.Node
}

// HandoverOf returns what is under way. Promises of s tell which pods go where.
func HandoverOf(s *model.Snapshot) Handover {
	var h Handover
	asked := askedFor(s)
	var closed []*model.Node
	for _, n := range s.Nodes() {
		switch {
		case n.Deleting || !n.Reserved() && !takes(n):
		case asked[n.Name] || !given(s, n, func(giver *model.Node) bool { return giver.Deleting || underWay(giver) }):
			h.Due = append(h.Due, n)
		case !n.Reserved(): // about to be closed
		case given(s, n, func(giver *model.Node) bool { return giver.Deleting }):
			closed = append(closed, n)
		}
	}
	slices.SortFunc(h.Due, func(a, b *model.Node) int { return cmp.Compare(a.Name, b.Name) })
	if len(closed) == 0 {
		return h
	}
	h.Next = slices.MinFunc(closed, func(a, b *model.Node) int {
		return cmp.Or(cmp.Compare(turn(a), turn(b)), slices.Compare(givers(a), givers(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, n := range s.Nodes() {
		if !n.Managed() || !n.Deleting {
			continue
		}
		for _, p := range n.Reschedulable() {
			if p.Object.DeletionTimestamp == nil && !Awaits(s, p) {
				h.Moving = append(h.Moving, p)
			}
		}
	}
	for _, p := range s.Pods() {
		if p.Unjudged() && !p.Virtual() && model.ByDefault(p.Object) {
			h.Moving = append(h.Moving, p)
		}
	}
	return h
}

// askedFor returns the names of the reserved nodes that pods without a node were promised to.
func askedFor(s *model.Snapshot) map[string]bool {
	asked := map[string]bool{}
	for _, p := range s.Pending() {
		if n, ok := s.NodeByName(s.PromiseOf(p)); ok && n.Reserved() && !p.Virtual() {
			asked[n.Name] = true
		}
	}
	return asked
}

// given reports whether one of the nodes that give pods to n is there, and what is asked.
func given(s *model.Snapshot, n *model.Node, is func(*model.Node) bool) bool {
	return slices.ContainsFunc(givers(n), func(name string) bool {
		claim, known := s.Claim(name)
		giver, ok := s.NodeByName(name)
		return known && ok && giver.Claim == claim && is(giver)
	})
}

// givers returns the names of the claims whose pods the node is to take.
func givers(n *model.Node) []string {
	return append(replaces(n), names(n.Claim.Annotations[apiv1.TakesFromAnnotationKey])...)
}

// takes reports whether the claim of the node says that it has room for pods of others.
func takes(n *model.Node) bool {
	return n.Claim != nil && n.Object != nil && n.Claim.Annotations[apiv1.TakesFromAnnotationKey] != ""
}

// Awaits reports whether the pod is to leave for a node that is not open yet.
func Awaits(s *model.Snapshot, p *model.Pod) bool {
	n, ok := s.NodeByName(s.PromiseOf(p))
	return ok && n.Reserved() && !n.Deleting
}

// turn is the place of a node among those that pods are handed over to: room that is there comes before replacements.
func turn(n *model.Node) int {
	i, err := strconv.Atoi(n.Claim.Annotations[apiv1.TurnAnnotationKey])
	if err != nil {
		return 0
	}
	return i
}

// A Destination is a node of ours with room for pods of nodes that are about to go.
type Destination struct {
	Node *model.Node
	// From are the names of the claims that give it pods, in order.
	From []string
}

// Destinations returns the nodes, in name order, that are there and open and that pods of the leaving nodes were promised to. It
// returns none if all pods go to one place: then there is nothing to put into order.
func Destinations(s *model.Snapshot, leaving []*model.Node) []Destination {
	goes := map[string]bool{}
	for _, n := range leaving {
		goes[n.Name] = true
	}
	from := map[*model.Node]map[string]bool{}
	for _, n := range leaving {
		for _, p := range n.Reschedulable() {
			to, ok := s.NodeByName(s.PromiseOf(p))
			if !ok || goes[to.Name] {
				continue
			}
			if from[to] == nil {
				from[to] = map[string]bool{}
			}
			from[to][n.Claim.Name] = true
		}
	}
	if len(from) < 2 {
		return nil
	}
	var out []Destination
	for n, names := range from {
		if n.Managed() && n.Initialized && !n.Reserved() && !n.Deleting && !underWay(n) {
			out = append(out, Destination{n, slices.Sorted(maps.Keys(names))})
		}
	}
	slices.SortFunc(out, func(a, b Destination) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	return out
}
