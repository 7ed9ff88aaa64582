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
	left := count{}
	for _, r := range pods {
		left.add(r, 1)
	}
	for _, r := range pods {
		r.ranked = r.ranked && (r.rank == leaving || mayLeave(r, left))
		if r.ranked {
			left.add(r, -1)
		}
	}
}

// A count is the number of pods by topology domain.
type count map[domain]int

type domain struct{ key, value string }

// add adds n to the domain of the pod for each of its spread constraints.
func (c count) add(r *ranked, n int) {
	for _, constraint := range r.pod.Object.Spec.TopologySpreadConstraints {
		if value, ok := r.node.Labels[constraint.TopologyKey]; ok {
			c[domain{constraint.TopologyKey, value}] += n
		}
	}
}

// mayLeave reports whether, for each spread constraint of the pod, its domain has at most maxSkew pods fewer than the
// fullest domain after the pod is removed.
func mayLeave(r *ranked, left count) bool {
	return !slices.ContainsFunc(r.pod.Object.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		own, ok := r.node.Labels[c.TopologyKey]
		if !ok {
			return false
		}
		after := left[domain{c.TopologyKey, own}] - 1
		most := after
		for d, n := range left {
			if d.key == c.TopologyKey && d.value != own {
				most = max(most, n)
			}
		}
		return most-after > int(c.MaxSkew)
	})
}
