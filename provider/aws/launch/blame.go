package launch

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// blame learns from a fleet's errors what is not to be had, whether instances came of it or not.
func (l *Launcher) blame(orders []*order, errs []ec2types.CreateFleetError) {
	first := orders[0]
	for _, e := range errs {
		code := aws.ToString(e.ErrorCode)
		var override ec2types.FleetLaunchTemplateOverrides
		if t := e.LaunchTemplateAndOverrides; t != nil && t.Overrides != nil {
			override = *t.Overrides
		}
		subnet, zone := aws.ToString(override.SubnetId), aws.ToString(override.AvailabilityZone)
		zoneID := ""
		for _, n := range first.Class.Status.Subnets {
			if n.ID == subnet {
				zone, zoneID = n.Zone, n.ZoneID
			}
		}
		l.failures.WithLabelValues(zone, zoneID, first.choice.CapacityType, code).Inc()
		switch {
		case code == fault.NoFreeAddresses && subnet != "":
			l.Shortages.MarkSubnet(subnet)
			l.Subnets.Exhausted(subnet)
		case code == fault.NoServiceRole:
			l.Shortages.MarkCapacityType(apiv1.CapacityTypeSpot)
			for _, o := range orders {
				l.event(o.Claim, "SpotServiceLinkedRoleMissing",
					"spot instances need the service-linked role AWSServiceRoleForEC2Spot, and it may not be created")
			}
		case fault.Unfulfillable(code) && override.InstanceType != "":
			l.Shortages.MarkOffering(string(override.InstanceType), zone, first.choice.CapacityType)
		}
	}
}

// outcomeError is what claims that got no instance are told: that there is no capacity if that is all EC2 complained of,
// else the first other complaint.
func outcomeError(errs []ec2types.CreateFleetError) error {
	if len(errs) == 0 {
		return launchError(errNothing)
	}
	var all []error
	for _, e := range errs {
		code := aws.ToString(e.ErrorCode)
		text := fmt.Errorf("%s: %s", code, aws.ToString(e.ErrorMessage))
		if !fault.Unfulfillable(code) && code != fault.NoServiceRole {
			why := fault.Explain(text.Error())
			return &cloud.LaunchError{Reason: why.Reason, Message: why.Message, Err: fmt.Errorf("%w: %w", errNotLaunched, text)}
		}
		all = append(all, text)
	}
	return &cloud.InsufficientCapacityError{Err: fmt.Errorf("%w: %w", errNotLaunched, first(all))}
}

// first joins a few of many errors: a fleet may complain of every one of its 180 overrides.
func first(errs []error) error {
	const few = 3
	if len(errs) <= few {
		return errors.Join(errs...)
	}
	return fmt.Errorf("%w; and %d more", errors.Join(errs[:few]...), len(errs)-few)
}
