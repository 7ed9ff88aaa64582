package deletioncost

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// keepSpread removes the rank of some pods of one ReplicaSet. The topology spread constraints of the pods then still hold
// after the deletion of all pods that keep a rank. Constraints with DoNotSchedule and with ScheduleAnyway count.
//
// Pods are processed from the lowest rank. A pod keeps its rank if, after its removal, its own domain has at most maxSkew
// pods fewer than the fullest domain. Only domains that have pods of the ReplicaSet are compared. Pods of nodes that are
// being removed are evicted in any case, so they keep their rank and count as deleted first.
func keepSpread(pods []*ranked) {
	if !slices.ContainsFunc(pods, func(r *ranked) bool { return len(r.pod.Object.Spec.TopologySpreadConstraints) > 0 }) {
		return
	}
	slices.SortFunc(pods, func(a, b *ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.pod.Key, b.pod.Key))
	})
	left := map[string]map[string]int{} // pods by topology key and domain
	for _, r := range pods {
		for _, c := range r.pod.Object.Spec.TopologySpreadConstraints {
			domain, ok := r.node.Labels[c.TopologyKey]
			if !ok {
				continue
			}
			if left[c.TopologyKey] == nil {
				left[c.TopologyKey] = map[string]int{}
			}
			left[c.TopologyKey][domain]++
		}
	}
	for _, r := range pods {
		if !r.ranked {
			continue
		}
		if r.rank != leaving && !mayLeave(r, left) {
			r.ranked = false
			continue
		}
		for _, c := range r.pod.Object.Spec.TopologySpreadConstraints {
			if domain, ok := r.node.Labels[c.TopologyKey]; ok {
				left[c.TopologyKey][domain]--
			}
		}
	}
}

// mayLeave reports whether, for each spread constraint of the pod, its domain has at most maxSkew pods fewer than the
// fullest domain after the pod is removed. left is the number of pods by topology key and domain.
func mayLeave(r *ranked, left map[string]map[string]int) bool {
	return !slices.ContainsFunc(r.pod.Object.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		own, ok := r.node.Labels[c.TopologyKey]
		if !ok {
			return false
		}
		most, after := 0, left[c.TopologyKey][own]-1
		for domain, n := range left[c.TopologyKey] {
			if domain == own {
				n = after
			}
			most = max(most, n)
		}
		return most-after > int(c.MaxSkew)
	})
}
