package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
)

// inPool returns the verdict about a pool as an obstacle. For some rules it replaces the general fix by one that names the
// NodePool and what to change in it.
func (e *Explainer) inPool(pod *model.Pod, pool *model.Pool, v model.Verdict) Obstacle {
	o := obstacleOf(v)
	switch v.Rule {
	case model.RuleLabels:
		if e.fromVolume(pod, v) {
			o.Why = "a volume of the pod is in another zone: " + o.Why
			o.Fix = fmt.Sprintf("allow the zone of the volume in NodePool %s and in its node class, or move the volume", pool.Name)
		}
	case model.RuleLimit:
		o.Fix = fmt.Sprintf("raise spec.limits.%s of NodePool %s to at least %s", v.Resource, pool.Name,
			units.Amount(v.Resource, pool.Limits[v.Resource]+v.By, units.Up))
	case model.RuleMinValues:
		o.Fix = fmt.Sprintf("lower minValues of %s in NodePool %s, allow more values, or set --min-values-policy=BestEffort",
			v.Key, pool.Name)
	case model.RuleTopology:
		if fix := e.moreDomains(pool, v); fix != "" {
			o.Fix = fix
		}
	}
	return o
}

// fromVolume reports whether the zone that the verdict names is required by a volume of the pod, and not by the pod itself.
// It assumes so if the pod has a volume claim, and its own selectors name no zone.
func (e *Explainer) fromVolume(pod *model.Pod, v model.Verdict) bool {
	claims := slices.ContainsFunc(pod.Object.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
	return claims && strings.Contains(v.Subject, corev1.LabelTopologyZone) &&
		!slices.ContainsFunc(e.terms(pod.Object), func(term require.Set) bool { return term.Has(corev1.LabelTopologyZone) })
}

// moreDomains returns how to give the pool more domains or to relax the constraint, empty if more domains do not help.
func (e *Explainer) moreDomains(pool *model.Pool, v model.Verdict) string {
	more := fmt.Sprintf("allow more values of %s in NodePool %s", v.Key, pool.Name)
	if !e.labels.WellKnown.Has(v.Key) && !pool.Requirements.Has(v.Key) {
		more = fmt.Sprintf("add label %s to spec.template.spec.requirements of NodePool %s", v.Key, pool.Name)
	}
	switch v.Cause {
	case model.CauseSpread:
		return more + ", or set whenUnsatisfiable: ScheduleAnyway"
	case model.CauseAntiAffinity, model.CauseOthersAffinity:
		return more + ", or use preferredDuringSchedulingIgnoredDuringExecution"
	}
	return ""
}
