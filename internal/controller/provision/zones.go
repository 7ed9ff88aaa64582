package provision

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// measureZones counts the waiting pods by the one zone that their selectors and required affinity leave them.
func (c *Controller) measureZones(pods []*model.Pod) {
	gauge := c.Metrics.Scheduler.PendingPodsByEffectiveZoneCount
	gauge.Reset()
	for _, p := range pods {
		gauge.WithLabelValues(c.Name(), zoneOf(p.Object)).Inc()
	}
}

// zoneOf returns the only zone that the pod may go to, or that there are several or none.
func zoneOf(o *corev1.Pod) string {
	reqs := require.FromLabels(o.Spec.NodeSelector)
	if a := o.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if required != nil && len(required.NodeSelectorTerms) > 0 {
			reqs = reqs.And(require.FromSelector(required.NodeSelectorTerms[0].MatchExpressions))
		}
	}
	zone, ok := reqs.Get(corev1.LabelTopologyZone)
	switch {
	case !ok || zone.Operator() != corev1.NodeSelectorOpIn || zone.Len() > 1:
		return telemetry.ZoneFlexible
	case zone.Len() == 0:
		return telemetry.ZoneNone
	}
	only, _ := zone.Any()
	return only
}
