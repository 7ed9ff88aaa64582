package lifecycle

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Why a claim has drifted, as far as no cloud is needed to tell. Providers add their own.
const (
	DriftNodePool             = "NodePoolDrifted"
	DriftRequirements         = "RequirementsDrifted"
	DriftInstanceTypeNotFound = "InstanceTypeNotFound"
)

// TypeDriftAge is how old a claim must be before its instance type is looked for: what was launched just now may be
// missing from a list that was made before.
const TypeDriftAge = time.Hour

// Drift returns the first reason why the claim is no longer what its pool asks for, or "". Types are all instance
// types of the pool, available or not, in name order. None at all says more about the list than about the claim, and
// is no reason.
func Drift(claim *apiv1.NodeClaim, pool *apiv1.NodePool, types []*model.InstanceType, now time.Time) string {
	switch {
	case hashDiffers(claim, pool):
		return DriftNodePool
	case requirementsDiffer(claim, pool):
		return DriftRequirements
	case len(types) > 0 && now.Sub(claim.CreationTimestamp.Time) >= TypeDriftAge && !offered(claim.Labels, types):
		return DriftInstanceTypeNotFound
	}
	return ""
}

// hashDiffers compares the template's hash then and now. Hashes that were made by different rules say nothing.
func hashDiffers(claim *apiv1.NodeClaim, pool *apiv1.NodePool) bool {
	then, ok1 := claim.Annotations[apiv1.NodePoolHashAnnotationKey]
	now, ok2 := pool.Annotations[apiv1.NodePoolHashAnnotationKey]
	ruleThen, ok3 := claim.Annotations[apiv1.NodePoolHashVersionAnnotationKey]
	ruleNow, ok4 := pool.Annotations[apiv1.NodePoolHashVersionAnnotationKey]
	return ok1 && ok2 && ok3 && ok4 && ruleThen == ruleNow && then != now
}

// requirementsDiffer reports whether the pool would no longer make a node with the claim's labels. Requirements are
// no part of the hash, so that a pool can be widened without replacing its nodes.
func requirementsDiffer(claim *apiv1.NodeClaim, pool *apiv1.NodePool) bool {
	_, ok := require.FromLabels(claim.Labels).Compatible(require.FromSpec(pool.Spec.Template.Spec.Requirements), nil)
	return !ok
}

// offered reports whether the claim's type is still there, with an offering that a node of these labels could come
// from.
func offered(labels map[string]string, types []*model.InstanceType) bool {
	name := labels[corev1.LabelInstanceTypeStable]
	i, ok := slices.BinarySearchFunc(types, name, func(t *model.InstanceType, name string) int {
		return cmp.Compare(t.Name, name)
	})
	if !ok {
		return false
	}
	return slices.ContainsFunc(types[i].Offerings, func(o model.Offering) bool { return comesFrom(labels, o) })
}

// comesFrom reports whether a node of these labels may have been bought as o.
//
// A node that was bought from a reservation may since have fallen back to on-demand, when the reservation ran out,
// and its reservation may be another one today; so only zone and capacity type count then.
func comesFrom(labels map[string]string, o model.Offering) bool {
	if labels[apiv1.CapacityTypeLabelKey] == apiv1.CapacityTypeReserved {
		return o.Zone == labels[corev1.LabelTopologyZone] &&
			(o.CapacityType == apiv1.CapacityTypeReserved || o.CapacityType == apiv1.CapacityTypeOnDemand)
	}
	_, ok := require.FromLabels(labels).Intersects(o.Requirements)
	return ok && o.Zone == labels[corev1.LabelTopologyZone] && o.CapacityType == labels[apiv1.CapacityTypeLabelKey]
}
