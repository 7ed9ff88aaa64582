package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Displaced returns the pods that need another place because their node is being deleted, in key order. Pods that the
// annotation do-not-disrupt protects at s.Now are omitted, and so are pods of a fully blocking PodDisruptionBudget (see
// fullyBlocks). They are not evicted yet, so a node for them would be empty.
func (s *Snapshot) Displaced() []*Pod {
	var pods []*Pod
	for _, n := range s.derived.deleting.Each() {
		for _, p := range n.Reschedulable() {
			if protected, _, _ := DoNotDisrupt(p.Object, s.Now); !protected {
				pods = append(pods, p)
			}
		}
	}
	pods = withoutForbidden(s, pods)
	slices.SortFunc(pods, func(a, b *Pod) int { return strings.Compare(a.Key, b.Key) })
	return pods
}

// A blocker is a fully blocking PodDisruptionBudget. If unready is set, it allows the eviction of pods that are not ready.
type blocker struct {
	namespace string
	selector  labels.Selector
	unready   bool
}

// holds reports whether the blocker keeps the pod from being evicted.
func (b blocker) holds(p *Pod) bool {
	return p.Object.Namespace == b.namespace && b.selector.Matches(labels.Set(p.Object.Labels)) &&
		!(b.unready && PodCondition(p.Object, corev1.PodReady).Status != corev1.ConditionTrue)
}

// withoutForbidden returns the pods without those of a fully blocking PodDisruptionBudget. It changes pods. A pod
// that is already terminating stays in the list.
func withoutForbidden(s *Snapshot, pods []*Pod) []*Pod {
	if len(pods) == 0 {
		return nil
	}
	var blockers []blocker
	for _, o := range s.PDBs.Each() {
		if !fullyBlocks(o) {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(o.Spec.Selector)
		if err != nil {
			continue // the API server accepts no budget with such a selector
		}
		policy := o.Spec.UnhealthyPodEvictionPolicy
		blockers = append(blockers, blocker{o.Namespace, selector, policy != nil && *policy == policyv1.AlwaysAllow})
	}
	return slices.DeleteFunc(pods, func(p *Pod) bool {
		return !p.Terminating() && slices.ContainsFunc(blockers, func(b blocker) bool { return b.holds(p) })
	})
}

// fullyBlocks reports whether the spec of the budget allows no eviction as long as there are not more pods than expected:
// maxUnavailable is 0 or 0%, or minAvailable is 100%.
func fullyBlocks(o *policyv1.PodDisruptionBudget) bool {
	scaled := func(v *intstr.IntOrString, of int) int {
		n, err := intstr.GetScaledValueFromIntOrPercent(v, of, true)
		if err != nil {
			return -1 // the API server accepts no such value
		}
		return n
	}
	most, least := o.Spec.MaxUnavailable, o.Spec.MinAvailable
	return most != nil && scaled(most, 100) == 0 || least != nil && least.Type == intstr.String && scaled(least, 100) >= 100
}
