package disrupt

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// Places returns where the pods of nodes that are under way, marked or on their way out already, will find room on what is
// there, all of them at once: on what their own node waits for if they can. It is what they were told when their commands
// began, worked out anew by one who does not remember.
func Places(s *model.Snapshot, o Options) []model.Placement {
	going, rooms := map[string]bool{}, map[string]model.Resources{}
	hints := map[string]string{}
	maps.Copy(hints, s.Promises)
	for _, n := range s.Nodes() {
		if !underWay(n) {
			continue
		}
		pods := n.Reschedulable()
		for _, p := range pods {
			going[p.Key] = true
		}
		if n.Claim != nil {
			hint(s, hints, rooms, names(n.Claim.Annotations[apiv1.ReplacedByAnnotationKey]), pods)
		}
	}
	if len(going) == 0 {
		return nil
	}
	s = s.Apply(model.Delta{Claims: underWayClaims(s)}).WithPromises(hints)
	var out []model.Placement
	for _, pl := range pack.Solve(s, o.Pack).Placements {
		pl.Pods = slices.DeleteFunc(slices.Clone(pl.Pods), func(p *model.Pod) bool { return !going[p.Key] })
		if len(pl.Pods) > 0 {
			out = append(out, pl)
		}
	}
	return out
}

// hint notes for as many of the pods as fit, largest first, to which of the claims named they may go. Rooms are what claims
// that were looked at have left.
func hint(s *model.Snapshot, hints map[string]string, rooms map[string]model.Resources, claims []string, pods []*model.Pod) {
	slices.SortStableFunc(pods, func(a, b *model.Pod) int {
		return cmp.Or(cmp.Compare(b.Requests[corev1.ResourceCPU], a.Requests[corev1.ResourceCPU]),
			cmp.Compare(b.Requests[corev1.ResourceMemory], a.Requests[corev1.ResourceMemory]))
	})
	for _, p := range pods {
		for _, name := range claims {
			n, ok := s.NodeByName(name)
			if !ok {
				continue
			}
			if _, known := rooms[name]; !known {
				rooms[name] = roomOf(n)
			}
			if _, _, short := p.Requests.Short(rooms[name]); short {
				continue
			}
			rooms[name] = rooms[name].Minus(p.Requests)
			hints[p.Key] = name
			break
		}
	}
}

// roomOf returns what pods may use of n; of a claim that is not launched, what it was asked for.
func roomOf(n *model.Node) model.Resources {
	if n.Launched() {
		return n.Free()
	}
	return model.RequestsOf(n.Claim.Spec.Resources.Requests)
}
