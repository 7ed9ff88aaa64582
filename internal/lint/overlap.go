package lint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// mostNamed is how many pools a finding names.
const mostNamed = 5

// overlaps finds pools that accept the same pods and have the same weight. It reports each such pool once, and names at
// most mostNamed of the others that were read before it.
func (l *linter) overlaps() {
	for i, a := range l.pools {
		var others []string
		for _, b := range l.pools[:i] {
			if overlap(a, b) {
				others = append(others, fmt.Sprintf("NodePool %s (%s, line %d)", b.pool.Name, b.file, b.node.Line))
			}
		}
		if more := len(others) - mostNamed; more > 0 {
			others = append(others[:mostNamed], fmt.Sprintf("%d more", more))
		}
		if len(others) > 0 {
			l.at(a.object, "overlapping-pools", "spec.weight", "set a different spec.weight, or a taint, label or requirement that"+
				" separates the NodePools", "accepts the same pods as %s with the same weight: pods go to the cheapest of these NodePools",
				strings.Join(others, ", "))
		}
	}
}

// overlap reports whether a pod may fit both NodePools, and their weights are equal. It is false for static NodePools,
// since pods do not cause their launches.
func overlap(a, b *pool) bool {
	if weight(a) != weight(b) || a.pool.Spec.Replicas != nil || b.pool.Spec.Replicas != nil || !sameTaints(a, b) {
		return false
	}
	if _, ok := a.set.Intersects(b.set); !ok {
		return false
	}
	return !a.judged || !b.judged || slices.ContainsFunc(a.types, func(t *model.InstanceType) bool {
		return slices.ContainsFunc(b.types, func(u *model.InstanceType) bool { return t.Name == u.Name })
	})
}

func weight(p *pool) int32 {
	if p.pool.Spec.Weight == nil {
		return 0
	}
	return *p.pool.Spec.Weight
}

// sameTaints reports whether both NodePools have the same NoSchedule and NoExecute taints.
func sameTaints(a, b *pool) bool { return slices.Equal(taints(a), taints(b)) }

func taints(p *pool) []string {
	var list []string
	for _, t := range p.pool.Spec.Template.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule {
			list = append(list, t.ToString())
		}
	}
	slices.Sort(list)
	return list
}
