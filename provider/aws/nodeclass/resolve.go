package nodeclass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/provider/aws/amis"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
	"github.com/karpenter-go/karpenter/provider/aws/profiles"
	"github.com/karpenter-go/karpenter/provider/aws/reserve"
)

// The interval of each step after a success; validationAgain also applies after a failed check of
// permissions. nothingAgain is the interval if a step found nothing, or could not read the
// reservations, the placement group or the service CIDR. Zero means that the step is not repeated.
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

// unsure sets a condition that cannot be determined now to Unknown. A condition that is True for the class's generation
// stays True, so that a short failure of AWS does not stop launches.
func (s *Status) unsure(class *awsv1.EC2NodeClass, kind, message string) {
	old := condition.Get(class, kind)
	if old != nil && old.Status == metav1.ConditionTrue && old.ObservedGeneration == class.Generation {
		return
	}
	condition.SetUnknown(class, kind, awsv1.ReasonNotResolved, message, s.Clock.Now())
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
			"No AMI for Kubernetes "+version+" matches spec.amiSelectorTerms "+terms(class.Spec.AMISelectorTerms))
		return nothingAgain, nil
	}
	s.yes(class, awsv1.ConditionTypeAMIsReady)
	return imagesAgain, nil
}

// reservations writes the capacity reservations that the class selects to its status. If the call of EC2 fails, the
// earlier list stays. The class stays ready, because nodes can be launched without reservations.
func (s *Status) reservations(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	kind := awsv1.ConditionTypeCapacityReservationsReady
	if !s.ReservedCapacity {
		class.Status.CapacityReservations = nil
		condition.SetTrueWithReason(class, kind, awsv1.ReasonReservedCapacityDisabled, "", s.Clock.Now())
		return 0, nil
	}
	found, err := s.Reservations.Resolve(ctx, class)
	s.tell(ctx, class, kind, fault.Brief(err))
	if err != nil {
		condition.SetTrueWithReason(class, kind, awsv1.ReasonReservationsNotListed,
			"Reservations of spec.capacityReservationSelectorTerms could not be listed, using those known: "+fault.Brief(err), s.Clock.Now())
		return nothingAgain, nil
	}
	class.Status.CapacityReservations = found
	s.yes(class, kind)
	if len(class.Spec.CapacityReservationSelectorTerms) == 0 {
		return 0, nil
	}
	return reserve.Again(found, s.Clock.Now()), nil
}

// placement checks that the placement group of the class exists. Without it the class is not ready, because nodes must
// not be launched outside the group.
func (s *Status) placement(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	kind := awsv1.ConditionTypePlacementGroupReady
	if class.Spec.PlacementGroupSelector == nil {
		s.yes(class, kind)
		return 0, nil
	}
	found, err := s.Placements.Resolve(ctx, class)
	s.tell(ctx, class, kind, fault.Brief(err))
	switch {
	case err != nil && s.Placements.Last(class) != nil: // the group that was found last is used
	case err != nil:
		s.no(class, kind, awsv1.ReasonPlacementGroupResolutionFailed, "spec.placementGroupSelector: "+fault.Brief(err))
		return nothingAgain, nil
	case found == nil:
		p := class.Spec.PlacementGroupSelector
		s.no(class, kind, awsv1.ReasonPlacementGroupNotFound, fmt.Sprintf(
			"No placement group %s in state available (spec.placementGroupSelector)", cmp.Or(p.Name, p.ID)))
		return nothingAgain, nil
	}
	s.yes(class, kind)
	return groupsAgain, nil
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
			"No subnet matches spec.subnetSelectorTerms "+terms(class.Spec.SubnetSelectorTerms))
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
			"No security group matches spec.securityGroupSelectorTerms "+terms(class.Spec.SecurityGroupSelectorTerms))
		return nothingAgain, nil
	}
	s.yes(class, awsv1.ConditionTypeSecurityGroupsReady)
	return groupsAgain, nil
}

func (s *Status) profile(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	name, err := s.Profiles.Ensure(ctx, class)
	if errors.Is(err, profiles.ErrNoRole) {
		s.no(class, awsv1.ConditionTypeInstanceProfileReady, awsv1.ReasonRoleNotFound,
			fmt.Sprintf("IAM role %s of spec.role does not exist in the account", class.Spec.Role))
		return nothingAgain, nil
	}
	if errors.Is(err, profiles.ErrNoProfile) {
		s.no(class, awsv1.ConditionTypeInstanceProfileReady, awsv1.ReasonInstanceProfileNotFound,
			fmt.Sprintf("Instance profile %s of spec.instanceProfile does not exist", *class.Spec.InstanceProfile))
		return nothingAgain, nil
	}
	if err != nil {
		return 0, fmt.Errorf("resolve instance profile: %w", err)
	}
	class.Status.InstanceProfile = name
	s.yes(class, awsv1.ConditionTypeInstanceProfileReady)
	return 0, nil
}
