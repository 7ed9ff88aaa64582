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
	a := assigner{s: s, promises: maps.Clone(s.Promises), free: map[string]model.Resources{}}
	if a.promises == nil {
		a.promises = map[string]string{}
	}
	for _, n := range s.Nodes() {
		if !status.Disrupting(n) {
			continue
		}
		pods := n.Reschedulable()
		for _, p := range pods {
			moving[p.Key] = true
		}
		a.assign(pods, status.ReplacedBy(n.Claim))
	}
	if len(moving) == 0 {
		return nil
	}
	s = s.Apply(model.Delta{Claims: status.MarkedAsDeleted(s)}).WithPromises(a.promises)
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

// An assigner assigns pods to claims by first fit, largest pods first.
type assigner struct {
	s        *model.Snapshot
	promises map[string]string          // the name of the claim, by pod key
	free     map[string]model.Resources // free resources, by name of the claim
}

// assign assigns each pod to the first of the claims on which it fits, if any.
func (a *assigner) assign(pods []*model.Pod, claims []string) {
	slices.SortStableFunc(pods, func(x, y *model.Pod) int {
		return cmp.Or(cmp.Compare(y.Requests[corev1.ResourceCPU], x.Requests[corev1.ResourceCPU]),
			cmp.Compare(y.Requests[corev1.ResourceMemory], x.Requests[corev1.ResourceMemory]))
	})
	for _, p := range pods {
		for _, name := range claims {
			n, ok := a.s.NodeByName(name)
			if !ok {
				continue
			}
			if _, known := a.free[name]; !known {
				a.free[name] = freeOf(n)
			}
			if _, _, short := p.Requests.Short(a.free[name]); short {
				continue
			}
			a.free[name] = a.free[name].Minus(p.Requests)
			a.promises[p.Key] = name
			break
		}
	}
}

// freeOf returns the free resources of n. For a claim that is not launched they are its requests.
func freeOf(n *model.Node) model.Resources {
	if n.Launched() {
		return n.Free()
	}
	return model.RequestsOf(n.Claim.Spec.Resources.Requests)
}
