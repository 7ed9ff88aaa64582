package lifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// The drift reasons that do not depend on the provider. Providers add their own.
const (
	DriftNodePool             = "NodePoolDrifted"
	DriftRequirements         = "RequirementsDrifted"
	DriftInstanceTypeNotFound = "InstanceTypeNotFound"
)

// TypeDriftAge is the age from which the instance type of a claim must be in the list of types. A list that was made
// before the launch may lack the type of a new claim.
const TypeDriftAge = time.Hour

// Drift returns the first reason why the claim no longer matches its pool, empty if there is none. types are all
// instance types of the pool, available or not, in name order. If there are none, the types are not known, so the
// claim's type is not checked. aliases map deprecated label keys to the keys that replace them.
func Drift(
	claim *apiv1.NodeClaim, pool *apiv1.NodePool, types []*model.InstanceType, aliases map[string]string, now time.Time,
) string {
	switch {
	case hashDiffers(claim, pool):
		return DriftNodePool
	case requirementsDiffer(claim, pool, aliases):
		return DriftRequirements
	case len(types) > 0 && now.Sub(claim.CreationTimestamp.Time) >= TypeDriftAge && !offered(claim.Labels, types):
		return DriftInstanceTypeNotFound
	}
	return ""
}

// hashDiffers reports whether the hash of the pool's template has changed since the claim was created. Hashes of
// different hash versions are not compared.
func hashDiffers(claim *apiv1.NodeClaim, pool *apiv1.NodePool) bool {
	then, ok1 := claim.Annotations[apiv1.NodePoolHashAnnotationKey]
	now, ok2 := pool.Annotations[apiv1.NodePoolHashAnnotationKey]
	ruleThen, ok3 := claim.Annotations[apiv1.NodePoolHashVersionAnnotationKey]
	ruleNow, ok4 := pool.Annotations[apiv1.NodePoolHashVersionAnnotationKey]
	return ok1 && ok2 && ok3 && ok4 && ruleThen == ruleNow && then != now
}

// requirementsDiffer reports whether the pool's requirements exclude the claim's labels. Requirements are not part of
// the hash, so a pool can be widened without drift of its nodes. Both may have deprecated keys.
func requirementsDiffer(claim *apiv1.NodeClaim, pool *apiv1.NodePool, aliases map[string]string) bool {
	required := require.FromSpec(pool.Spec.Template.Spec.Requirements).Normalize(aliases)
	_, ok := require.FromLabels(claim.Labels).Normalize(aliases).Compatible(required, nil)
	return !ok
}

// offered reports whether the claim's instance type still exists, with an offering by which the node could have been
// launched.
func offered(labels map[string]string, types []*model.InstanceType) bool {
	t := model.TypeNamed(types, labels[corev1.LabelInstanceTypeStable])
	return t != nil && slices.ContainsFunc(t.Offerings, func(o model.Offering) bool { return comesFrom(labels, o) })
}

// comesFrom reports whether a node with these labels may have been launched by offering o.
//
// If the labels say that the node is from a capacity reservation, only the zone must be equal, and o may be any reserved or
// on-demand offering. The reservation may have run out, so that the node is on-demand now, or it may have another ID.
func comesFrom(labels map[string]string, o model.Offering) bool {
	if labels[apiv1.CapacityTypeLabelKey] == apiv1.CapacityTypeReserved {
		return o.Zone == labels[corev1.LabelTopologyZone] &&
			(o.CapacityType == apiv1.CapacityTypeReserved || o.CapacityType == apiv1.CapacityTypeOnDemand)
	}
	_, ok := require.FromLabels(labels).Intersects(o.Requirements)
	return ok && o.Zone == labels[corev1.LabelTopologyZone] && o.CapacityType == labels[apiv1.CapacityTypeLabelKey]
}
