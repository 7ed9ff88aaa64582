package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/karpenter-go/karpenter/api/condition"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/amis"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/profiles"
)

// When each step is due again, if all is well and if nothing was found.
const (
	imagesAgain     = 5 * time.Minute
	groupsAgain     = 5 * time.Minute
	subnetsAgain    = time.Minute
	nothingAgain    = time.Minute
	validationAgain = 10 * time.Minute
)

func (s *Status) yes(class *awsv1.EC2NodeClass, kind string) {
	condition.SetTrue(class, kind, s.Clock.Now())
}

func (s *Status) no(class *awsv1.EC2NodeClass, kind, reason, message string) {
	condition.SetFalse(class, kind, reason, message, s.Clock.Now())
}

func (s *Status) images(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	version, err := s.Cluster.Kubernetes(ctx)
	if err != nil {
		return 0, fmt.Errorf("resolve images: %w", err)
	}
	minor, err := amis.Minor(version)
	if err != nil {
		return 0, fmt.Errorf("resolve images: %w", err)
	}
	if family, _, ok := catalog.Alias(class); ok {
		if why := amis.Unsupported(family, minor); why != "" {
			s.no(class, awsv1.ConditionTypeAMIsReady, awsv1.ReasonUnsupportedAlias, "spec.amiSelectorTerms: "+why)
			return 0, nil
		}
	}
	found, err := s.Images.Resolve(ctx, class, version)
	if err != nil {
		return 0, fmt.Errorf("resolve images: %w", err)
	}
	class.Status.AMIs = found
	if len(found) == 0 {
		s.no(class, awsv1.ConditionTypeAMIsReady, awsv1.ReasonAMINotFound,
			"spec.amiSelectorTerms: no image matches for Kubernetes "+version)
		return nothingAgain, nil
	}
	s.yes(class, awsv1.ConditionTypeAMIsReady)
	return imagesAgain, nil
}

// reservations has nothing to resolve as long as classes select none.
func (s *Status) reservations(_ context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	kind := awsv1.ConditionTypeCapacityReservationsReady
	if !s.Reservations {
		condition.SetTrueWithReason(class, kind, awsv1.ReasonReservedCapacityDisabled, "", s.Clock.Now())
		return 0, nil
	}
	s.yes(class, kind)
	return 0, nil
}

// placement is ready when no group is asked for.
func (s *Status) placement(_ context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	if class.Spec.PlacementGroupSelector != nil {
		s.no(class, awsv1.ConditionTypePlacementGroupReady, awsv1.ReasonPlacementGroupNotFound,
			"spec.placementGroupSelector: placement groups are not supported by this version")
		return 0, nil
	}
	s.yes(class, awsv1.ConditionTypePlacementGroupReady)
	return 0, nil
}

func (s *Status) subnets(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	found, err := s.Subnets.Resolve(ctx, class)
	if err != nil {
		return 0, fmt.Errorf("resolve subnets: %w", err)
	}
	class.Status.Subnets = nil
	for _, n := range found {
		class.Status.Subnets = append(class.Status.Subnets, awsv1.Subnet{ID: n.ID, Zone: n.Zone, ZoneID: n.ZoneID})
	}
	if len(found) == 0 {
		s.no(class, awsv1.ConditionTypeSubnetsReady, awsv1.ReasonSubnetsNotFound,
			"spec.subnetSelectorTerms: no subnet matches")
		return nothingAgain, nil
	}
	s.yes(class, awsv1.ConditionTypeSubnetsReady)
	return subnetsAgain, nil
}

func (s *Status) groups(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	found, err := s.Groups.Resolve(ctx, class)
	if err != nil {
		return 0, fmt.Errorf("resolve security groups: %w", err)
	}
	class.Status.SecurityGroups = found
	if len(found) == 0 {
		s.no(class, awsv1.ConditionTypeSecurityGroupsReady, awsv1.ReasonSecurityGroupsNotFound,
			"spec.securityGroupSelectorTerms: no security group matches")
		return nothingAgain, nil
	}
	s.yes(class, awsv1.ConditionTypeSecurityGroupsReady)
	return groupsAgain, nil
}

func (s *Status) profile(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	name, err := s.Profiles.Ensure(ctx, class)
	if errors.Is(err, profiles.ErrNoRole) {
		s.no(class, awsv1.ConditionTypeInstanceProfileReady, "RoleNotFound",
			fmt.Sprintf("spec.role: there is no IAM role %s in the account", class.Spec.Role))
		return nothingAgain, nil
	}
	if err != nil {
		return 0, fmt.Errorf("resolve instance profile: %w", err)
	}
	class.Status.InstanceProfile = name
	s.yes(class, awsv1.ConditionTypeInstanceProfileReady)
	return 0, nil
}
