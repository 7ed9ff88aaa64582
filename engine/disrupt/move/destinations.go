package move

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Destination is an existing node to which pods of nodes that will be deleted move.
type Destination struct {
	Node *model.Node
	// From are the names of the claims whose pods move to the node, sorted.
	From []string
}

// Destinations returns the initialized nodes that must be reserved for pods of the leaving nodes, in name order. It
// returns none if all pods move to one node, because then kube-scheduler cannot mix them up.
func Destinations(s *model.Snapshot, leaving []*model.Node) []Destination {
	leaves := map[string]bool{}
	for _, n := range leaving {
		leaves[n.Name] = true
	}
	from := map[*model.Node]map[string]bool{}
	for _, n := range leaving {
		for _, p := range n.Reschedulable() {
			to, ok := s.NodeByName(s.PromiseOf(p))
			if !ok || leaves[to.Name] {
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
	for n, claims := range from {
		if n.Managed() && n.Initialized && !n.Reserved() && !n.Deleting && !status.Disrupting(n) {
			out = append(out, Destination{n, slices.Sorted(maps.Keys(claims))})
		}
	}
	slices.SortFunc(out, func(a, b Destination) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	return out
}
