package move

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// Assignments returns the nodes to which the pods of marked nodes move. It is used after a restart, and recomputes the
// assignments that were made when the commands began. The replacements of a pod's own node are tried first.
func Assignments(s *model.Snapshot, o pack.Options) []model.Placement {
	moving := map[string]bool{}
	free, targets := model.FreeCapacity{}, map[string]string{}
	maps.Copy(targets, s.Targets)
	for _, n := range s.Nodes() {
		if !status.Disrupting(n) {
			continue
		}
		pods := n.Reschedulable()
		for _, p := range pods {
			moving[p.Key] = true
		}
		assign(s, pods, status.ReplacedBy(n.Claim), free, targets)
	}
	if len(moving) == 0 {
		return nil
	}
	s = s.Apply(model.Delta{Claims: status.MarkedAsDeleted(s)}).WithTargets(targets)
	var out []model.Placement
	plan, _ := pack.Try(s, o)
	for _, pl := range plan.Placements {
		pl.Pods = slices.DeleteFunc(slices.Clone(pl.Pods), func(p *model.Pod) bool { return !moving[p.Key] })
		if len(pl.Pods) > 0 {
			out = append(out, pl)
		}
	}
	return out
}

// assign assigns each pod to the first of the claims on which it fits, if any, largest pods first. For each such pod it sets
// targets[key of the pod] to the name of the claim.
func assign(s *model.Snapshot, pods []*model.Pod, claims []string, free model.FreeCapacity, targets map[string]string) {
	slices.SortStableFunc(pods, func(x, y *model.Pod) int {
		return cmp.Or(cmp.Compare(y.Requests[corev1.ResourceCPU], x.Requests[corev1.ResourceCPU]),
			cmp.Compare(y.Requests[corev1.ResourceMemory], x.Requests[corev1.ResourceMemory]))
	})
	for _, p := range pods {
		for _, name := range claims {
			if n, ok := s.NodeByName(name); ok && free.Take(n, p) {
				targets[p.Key] = name
				break
			}
		}
	}
}

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
			to, ok := s.NodeByName(s.TargetOf(p))
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
