package model

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// PodCondition returns the condition of the pod with the type, zero if there is none.
func PodCondition(o *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(o.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return o.Status.Conditions[i]
}

// Readiness returns the status of the node's condition Ready, Unknown if it has none.
func Readiness(o *corev1.Node) corev1.ConditionStatus {
	i := slices.IndexFunc(o.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return corev1.ConditionUnknown
	}
	return cmp.Or(o.Status.Conditions[i].Status, corev1.ConditionUnknown)
}

// ExpiresAt returns when the claim expires. ok is false if it never does, or if claim is nil.
func ExpiresAt(claim *apiv1.NodeClaim) (at time.Time, ok bool) {
	if claim == nil || claim.Spec.ExpireAfter.Duration == nil {
		return time.Time{}, false
	}
	return claim.CreationTimestamp.Add(*claim.Spec.ExpireAfter.Duration), true
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
