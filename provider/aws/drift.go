package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/aws/amis"
	"github.com/karpenter-go/karpenter/provider/aws/instances"
	"github.com/karpenter-go/karpenter/provider/aws/nodeclass"
)

// Reasons of drift, in the order in which they are checked. Drift reports the first that applies.
const (
	DriftNodeClass     cloud.DriftReason = "NodeClassDrift"
	DriftAMI           cloud.DriftReason = "AMIDrift"
	DriftSecurityGroup cloud.DriftReason = "SecurityGroupDrift"
	DriftSubnet        cloud.DriftReason = "SubnetDrift"
	DriftReservation   cloud.DriftReason = "CapacityReservationDrift"
	DriftPlacement     cloud.DriftReason = "PlacementGroupDrift"
)

// Drift implements cloud.Provider. A claim without a pool or a node class reference, or whose class
// is missing or is being deleted, has not drifted. If the class has changed and has not been reconciled since, Drift returns a
// NodeClassNotReadyError, because nothing can be launched from it yet.
func (p *Provider) Drift(ctx context.Context, claim *apiv1.NodeClaim) (cloud.DriftReason, error) {
	if claim.Labels[apiv1.NodePoolLabelKey] == "" || claim.Spec.NodeClassRef == nil {
		return "", nil
	}
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	var notReady *cloud.NodeClassNotReadyError
	switch {
	case errors.As(err, &notReady):
		return "", nil
	case err != nil:
		return "", err
	}
	if err := changed(class); err != nil {
		return "", err
	}
	if hashDrifted(claim, class) {
		return DriftNodeClass, nil
	}
	if drifted, err := imageDrifted(claim, class); err != nil || drifted {
		return reasonIf(drifted, DriftAMI), err
	}
	if len(class.Status.SecurityGroups) == 0 || len(class.Status.Subnets) == 0 {
		return "", fmt.Errorf("compare claim %s: node class %s has no security groups or no subnets", claim.Name, class.Name)
	}
	i, err := p.of(ctx, claim)
	if err != nil {
		return "", err
	}
	if reason := instanceDrift(i, class); reason != "" {
		return reason, nil
	}
	return p.placementDrift(ctx, claim, class)
}

// placementDrift compares the placement group of the claim with that of the class. It returns an error if the group of
// the class cannot be resolved.
func (p *Provider) placementDrift(
	ctx context.Context, claim *apiv1.NodeClaim, class *awsv1.EC2NodeClass,
) (cloud.DriftReason, error) {
	want := ""
	group, err := p.group(ctx, class)
	if err != nil {
		return "", fmt.Errorf("compare placement group of claim %s: %w", claim.Name, err)
	}
	if group != nil {
		want = group.ID
	}
	return reasonIf(claim.Labels[awsv1.LabelPlacementGroupID] != want, DriftPlacement), nil
}

func reasonIf(drifted bool, r cloud.DriftReason) cloud.DriftReason {
	if drifted {
		return r
	}
	return ""
}

// hashDrifted reports whether the hash of the claim differs from that of the class. The hash of the class is computed from
// its spec, because the one in its annotation may still be that of an earlier spec. A hash of another hash version is not
// compared.
func hashDrifted(claim *apiv1.NodeClaim, class *awsv1.EC2NodeClass) bool {
	hash, version := claim.Annotations[awsv1.AnnotationEC2NodeClassHash], claim.Annotations[awsv1.AnnotationEC2NodeClassHashVersion]
	return hash != "" && version == nodeclass.HashVersion && hash != nodeclass.Hash(class)
}

// imageDrifted reports whether the node class now selects another image, or none, for the labels of the claim. It
// returns an error if the class has no images, or if the image or instance type of the claim is not known.
func imageDrifted(claim *apiv1.NodeClaim, class *awsv1.EC2NodeClass) (bool, error) {
	switch {
	case len(class.Status.AMIs) == 0:
		return false, fmt.Errorf("compare image of claim %s: node class %s has none", claim.Name, class.Name)
	case claim.Status.ImageID == "":
		return false, fmt.Errorf("compare image of claim %s: it is not known", claim.Name)
	case claim.Labels[corev1.LabelInstanceTypeStable] == "":
		return false, fmt.Errorf("compare image of claim %s: its instance type is not known", claim.Name)
	}
	image, ok := amis.For(class, amis.Labels{Set: require.FromLabels(claim.Labels)})
	return !ok || image.ID != claim.Status.ImageID, nil
}

func instanceDrift(i instances.Instance, class *awsv1.EC2NodeClass) cloud.DriftReason {
	var want []string
	for _, g := range class.Status.SecurityGroups {
		want = append(want, g.ID)
	}
	have := slices.Clone(i.SecurityGroups)
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(slices.Compact(want), slices.Compact(have)) {
		return DriftSecurityGroup
	}
	if !slices.ContainsFunc(class.Status.Subnets, func(n awsv1.Subnet) bool { return n.ID == i.SubnetID }) {
		return DriftSubnet
	}
	selected := func(c awsv1.CapacityReservation) bool { return c.ID == i.Reservation.ID }
	if i.Reservation.ID == "" || reservationsIgnored(class) {
		return ""
	}
	return reasonIf(!slices.ContainsFunc(class.Status.CapacityReservations, selected), DriftReservation)
}

// reservationsIgnored reports whether the status of the class was written while the feature gate ReservedCapacity was off, so
// that it lists no reservations. The class is reconciled soon if the gate is on now.
func reservationsIgnored(class *awsv1.EC2NodeClass) bool {
	c := condition.Get(class, awsv1.ConditionTypeCapacityReservationsReady)
	return c != nil && c.Reason == awsv1.ReasonReservedCapacityDisabled
}
