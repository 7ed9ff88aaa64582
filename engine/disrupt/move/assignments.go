package move

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// Assignments returns the nodes to which the pods of marked nodes move. It is used after a restart, and recomputes the
// assignments that were made when the commands began. The replacements of a pod's own node are tried first.
func Assignments(s *model.Snapshot, o pack.Options) []model.Placement {
	moving := map[string]bool{}
	free, promises := model.FreeCapacity{}, map[string]string{}
	maps.Copy(promises, s.Promises)
	for _, n := range s.Nodes() {
		if !status.Disrupting(n) {
			continue
		}
		pods := n.Reschedulable()
		for _, p := range pods {
			moving[p.Key] = true
		}
		assign(s, pods, status.ReplacedBy(n.Claim), free, promises)
	}
	if len(moving) == 0 {
		return nil
	}
	s = s.Apply(model.Delta{Claims: status.MarkedAsDeleted(s)}).WithPromises(promises)
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
// promises[key of the pod] to the name of the claim.
func assign(s *model.Snapshot, pods []*model.Pod, claims []string, free model.FreeCapacity, promises map[string]string) {
	slices.SortStableFunc(pods, func(x, y *model.Pod) int {
		return cmp.Or(cmp.Compare(y.Requests[corev1.ResourceCPU], x.Requests[corev1.ResourceCPU]),
			cmp.Compare(y.Requests[corev1.ResourceMemory], x.Requests[corev1.ResourceMemory]))
	})
	for _, p := range pods {
		for _, name := range claims {
			if n, ok := s.NodeByName(name); ok && free.Take(n, p) {
				promises[p.Key] = name
				break
			}
		}
	}
}
