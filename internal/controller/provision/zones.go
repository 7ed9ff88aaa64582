package provision

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
	"github.com/karpenter-go/karpenter/engine/volume"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// measureZones sets the metric PendingPodsByEffectiveZoneCount for the pending pods of a round, without virtual pods.
func (c *Controller) measureZones(s *model.Snapshot, defaults func(*model.Pod) []corev1.TopologySpreadConstraint) {
	gauge := c.Metrics.Scheduler.PendingPodsByEffectiveZoneCount
	gauge.Reset()
	var pods []*model.Pod
	for _, p := range s.Pending() {
		if !p.Virtual() && p.Object.Status.Phase == corev1.PodPending {
			pods = append(pods, p)
		}
	}
	z := newZones(s, pods, c.Options.Labels.Aliases, defaults)
	for _, p := range pods {
		gauge.WithLabelValues(c.Name(), z.of(p)).Inc()
	}
}

// zoneDefaults returns the default spread constraints of pods, nil if none of them can decide the zone of a pod. They are computed for
// each pod from all workloads of its namespace, which takes seconds for 10,000 pods.
func (c *Controller) zoneDefaults(ctx context.Context) func(*model.Pod) []corev1.TopologySpreadConstraint {
	if c.Spread == nil || !slices.ContainsFunc(c.Spread.Constraints, func(t corev1.TopologySpreadConstraint) bool {
		return t.TopologyKey == corev1.LabelTopologyZone && t.WhenUnsatisfiable == corev1.DoNotSchedule
	}) {
		return nil
	}
	return c.Spread.Of(ctx)
}

// zones has the data from which the feasible zones of pods are computed.
type zones struct {
	snapshot *model.Snapshot
	aliases  map[string]string
	// spreads has the required spread constraints over zones, by pod key.
	spreads map[string][]topology.Rule
	// book assigns a number to each term in spreads. counts has, for each term, the number of pods that it selects in each zone.
	book   *topology.Book
	counts []map[string]int
	// known is the set of zones of nodes and offerings; nil if spreads is empty.
	known map[string]bool
}

// newZones returns the data for the pods. defaults returns the default spread constraints of a pod that has none of its own, and may
// be nil.
func newZones(
	s *model.Snapshot, pods []*model.Pod, aliases map[string]string, defaults func(*model.Pod) []corev1.TopologySpreadConstraint,
) *zones {
	z := &zones{snapshot: s, aliases: aliases, spreads: map[string][]topology.Rule{}, book: topology.NewBook()}
	for _, p := range pods {
		var ofPod []corev1.TopologySpreadConstraint
		if defaults != nil && len(p.Object.Spec.TopologySpreadConstraints) == 0 {
			ofPod = defaults(p)
		}
		if len(p.Object.Spec.TopologySpreadConstraints)+len(ofPod) == 0 {
			continue
		}
		for _, r := range topology.Of(p.Object, noNamespaces, ofPod) {
			if r.Kind == topology.Spread && !r.Soft && r.Term.Key == corev1.LabelTopologyZone {
				z.book.Number(r.Term)
				z.spreads[p.Key] = append(z.spreads[p.Key], r)
			}
		}
	}
	if len(z.spreads) > 0 {
		z.count()
	}
	return z
}

// count fills counts and known.
func (z *zones) count() {
	z.known, z.counts = map[string]bool{}, make([]map[string]int, z.book.Len())
	for i := range z.counts {
		z.counts[i] = map[string]int{}
	}
	for _, pool := range z.snapshot.Pools() {
		for _, t := range z.snapshot.Types(pool.Name) {
			for i := range t.Offerings {
				z.known[t.Offerings[i].Zone] = true
			}
		}
	}
	var selecting []int
	for _, n := range z.snapshot.Nodes() {
		zone, ok := n.Labels[corev1.LabelTopologyZone]
		if !ok {
			continue
		}
		z.known[zone] = true
		for _, p := range n.Pods {
			selecting = z.book.Selecting(selecting[:0], p.Object.Namespace, p.Object.Labels)
			for _, term := range selecting {
				z.counts[term][zone]++
			}
		}
	}
}

// of returns the only zone that the pod can use, or ZoneFlexible or ZoneNone. It intersects the zones that the pod's node
// selector, node affinity, volumes and spread constraints allow. It ignores a selector, affinity or volume that lists no
// zones. If a volume of the pod cannot be used, the result is ZoneNone.
func (z *zones) of(p *model.Pod) string {
	left := require.New(corev1.LabelTopologyZone, corev1.NodeSelectorOpExists)
	strict, listed := z.selected(p.Object)
	if listed {
		left = left.Intersect(strict)
	}
	volumes, no := volume.Of(z.snapshot, p)
	if !no.OK() {
		return telemetry.ZoneNone
	}
	for _, v := range volumes {
		if among, bound := z.union(v.Topology); bound {
			left = left.Intersect(among)
		}
	}
	for _, r := range z.spreads[p.Key] {
		left = left.Intersect(z.ofSpread(r, strict, listed))
	}
	switch left.Len() {
	case 0:
		return telemetry.ZoneNone
	case 1:
		only, _ := left.Any()
		return only
	}
	return telemetry.ZoneFlexible
}

// selected returns the zones that the pod's node selector and required node affinity list, also by deprecated labels. listed is
// false if they list none. The terms of the affinity are alternatives: if one of them lists no zones, listed is false.
func (z *zones) selected(o *corev1.Pod) (among require.Requirement, listed bool) {
	selector := require.FromLabels(o.Spec.NodeSelector)
	alternatives := []require.Set{selector}
	if a := o.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		alternatives = nil
		for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			alternatives = append(alternatives, selector.And(require.FromSelector(term.MatchExpressions)))
		}
	}
	return z.union(alternatives)
}

// union returns all zones that the alternatives list, also by deprecated labels. listed is false if one alternative lists no zones
// (operator In), or if there are no alternatives.
func (z *zones) union(alternatives []require.Set) (among require.Requirement, listed bool) {
	var values []string
	for _, set := range alternatives {
		zone, ok := set.Normalize(z.aliases).Get(corev1.LabelTopologyZone)
		if !ok || zone.Operator() != corev1.NodeSelectorOpIn {
			return require.Requirement{}, false
		}
		values = slices.AppendSeq(values, zone.Each())
	}
	return require.New(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, values...), len(alternatives) > 0
}

// ofSpread returns the zones in which the pod would not exceed the maxSkew of the constraint. strict has the zones that the pod
// may use, if listed.
func (z *zones) ofSpread(r topology.Rule, strict require.Requirement, listed bool) require.Requirement {
	counts := z.counts[z.book.Number(r.Term)]
	eligible := slices.DeleteFunc(slices.Sorted(maps.Keys(z.known)), func(zone string) bool {
		return r.HonorAffinity && listed && !strict.Has(zone)
	})
	least := 0
	if len(eligible) >= max(r.MinDomains, 1) {
		least = counts[slices.MinFunc(eligible, func(a, b string) int { return counts[a] - counts[b] })]
	}
	more := 0
	if r.Self {
		more = 1
	}
	allowed := slices.DeleteFunc(eligible, func(zone string) bool { return counts[zone]+more-least > r.MaxSkew })
	return require.New(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, allowed...)
}

// noNamespaces selects no namespace. Only rules of affinity use namespaces, and these are not used here.
func noNamespaces(labels.Selector) []string { return nil }
