package disrupt

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A kind is those pods of a node that ask for the same and tolerate the same.
type kind struct {
	asks        amounts
	tolerations []corev1.Toleration
	pods        int
}

func kindsOf(pods []*model.Pod) []kind {
	var kinds []kind
	for _, p := range pods {
		asks, tolerations := amountsOf(p.Requests), p.Object.Spec.Tolerations
		i := slices.IndexFunc(kinds, func(k kind) bool {
			return k.asks == asks && slices.EqualFunc(k.tolerations, tolerations, sameToleration)
		})
		if i < 0 {
			i, kinds = len(kinds), append(kinds, kind{asks: asks, tolerations: tolerations})
		}
		kinds[i].pods++
	}
	return kinds
}

func sameToleration(a, b corev1.Toleration) bool {
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect
}

// fits reports whether one pod of the kind may go to the node.
func (k *kind) fits(r *roomy) bool {
	if !k.asks.within(r.free) {
		return false
	}
	for i := range r.taints {
		t := &r.taints[i]
		if t.Effect != corev1.TaintEffectPreferNoSchedule &&
			!schedulingcorev1.TolerationsTolerateTaint(logr.Discard(), k.tolerations, t, false) {
			return false
		}
	}
	return true
}

// near returns the nodes that matter to the candidate's pods: whatever part of them finds room in all nodes finds it in these.
//
// Each kind of pods has nodes of its own, roomiest first, of which each holds one, and as many as there are pods of all kinds:
// so one is left for each pod wherever the others are put. Of a kind that has fewer all there are are shown.
func (k *sketch) near(c *candidate) []*corev1.Node {
	var nodes []*corev1.Node
	taken := map[*roomy]bool{}
	for _, kind := range kindsOf(c.pods) {
		left := len(c.pods)
		for _, r := range k.rooms {
			if left == 0 {
				break
			}
			if r.name != c.node.Name && !taken[r] && kind.fits(r) {
				taken[r] = true
				nodes = append(nodes, r.object)
				left--
			}
		}
	}
	return nodes
}
