package lint

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// overlaps finds pools that suit the same pods with nothing to tell which of them comes first.
func (l *linter) overlaps() {
	for i, a := range l.pools {
		for _, b := range l.pools[:i] {
			if weight(a) != weight(b) || a.pool.Spec.Replicas != nil || b.pool.Spec.Replicas != nil || !sameTaints(a, b) {
				continue
			}
			if _, ok := a.set.Intersects(b.set); !ok {
				continue
			}
			if a.judged && b.judged && !slices.ContainsFunc(a.types, func(t *model.InstanceType) bool {
				return slices.ContainsFunc(b.types, func(u *model.InstanceType) bool { return t.Name == u.Name })
			}) {
				continue
			}
			l.at(a.object, "overlapping-pools", "spec.weight", "give them different weights, or a taint, label or requirement that"+
				" tells them apart", "suits the same pods as NodePool %s (%s, line %d) and has the same weight: which of them gets a"+
				" pod is decided by name", b.pool.Name, b.file, b.node.Line)
		}
	}
}

func weight(p *pool) int32 {
	if p.pool.Spec.Weight == nil {
		return 0
	}
	return *p.pool.Spec.Weight
}

// sameTaints reports whether both pools repel the same pods.
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
