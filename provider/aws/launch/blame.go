package launch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// blame records the unavailable offerings in the errors of a fleet call, even if the call launched instances.
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
		l.learn(orders, complaint{code: code, text: aws.ToString(e.ErrorMessage), subnet: subnet, zone: zone,
			instanceType: string(override.InstanceType)})
	}
}

// complaint is one error in the response to a fleet call.
type complaint struct{ code, text, subnet, zone, instanceType string }

// spreadLimit is a part of EC2's error text when a spread placement group has seven instances in a zone, which is the
// limit.
const spreadLimit = "limit of instances in this spread placement group"

// notInZone is a part of EC2's text of the error Unsupported when a zone does not offer the type. The same code stands for a
// tenancy, an image or an option that the type does not support.
const notInZone = "not supported in your requested Availability Zone"

// learn records what one error means for later launches: for example, that the offering, the subnet, the reservation or the
// quota is used up. Later launches do not use it for a while.
func (l *Launcher) learn(orders []*order, c complaint) {
	first := orders[0]
	capacityType, in := first.choice.CapacityType, catalog.Place{}
	if first.Group != nil {
		in = catalog.Place{Group: first.Group.ID, Partition: first.choice.Partition}
	}
	reservation := first.draws(c.instanceType, c.zone)
	switch {
	case c.code == fault.NoFreeAddresses && c.subnet != "":
		l.Shortages.MarkSubnet(c.subnet)
		l.Subnets.Exhausted(c.subnet)
	case c.code == fault.NoServiceRole:
		l.Shortages.MarkCapacityType(apiv1.CapacityTypeSpot)
		for _, o := range orders {
			l.event(o.Claim, telemetry.EventSpotSLRCreationFailed,
				"Not authorized to create the service-linked role AWSServiceRoleForEC2Spot, which spot instances need; fix: "+
					"create the role, or allow iam:CreateServiceLinkedRole to the controller")
		}
	case !fault.Unfulfillable(c.code) || c.instanceType == "":
	case in.Group != "" && strings.Contains(c.text, spreadLimit): // the limit is for instances of all types in the zone
		l.Shortages.MarkGroup(c.zone, in.Group)
	case reservation.ID != "" && c.code == fault.ReservationFull:
		l.Reserved.Full(reservation.ID)
	case reservation.ID != "":
		l.Shortages.MarkReservation(c.instanceType, c.zone, reservation.ID)
	case fault.Quota(c.code) && c.code != "MaxFleetCountExceeded":
		l.Shortages.MarkQuota(c.instanceType, capacityType, first.vcpus(c.instanceType))
	case c.code == "Unsupported" && strings.Contains(c.text, notInZone):
		l.Shortages.MarkNotSold(c.instanceType, c.zone, capacityType, in)
	case c.code == "Unsupported":
		l.Shortages.MarkUnsupported(c.instanceType, c.zone, capacityType, in)
	default:
		l.Shortages.MarkOffering(c.instanceType, c.zone, capacityType, in)
	}
}

// vcpus returns the number of vCPUs of a type of the choice, 0 if the type is
// not part of it.
func (o *order) vcpus(instanceType string) int64 {
	for _, t := range o.choice.Types {
		if t.Name == instanceType {
			return t.Capacity[corev1.ResourceCPU] / 1000
		}
	}
	return 0
}

// outcomeError returns the error for claims that got no instance. If all errors of the call are about capacity or about the
// missing service-linked role of spot instances, it is an InsufficientCapacityError. Otherwise it is a LaunchError of the
// first other error. Without errors it is a LaunchError of errNothing.
func outcomeError(errs []ec2types.CreateFleetError) error {
	if len(errs) == 0 {
		return launchError(errNothing)
	}
	var all []error
	var quota error
	for _, e := range errs {
		code := aws.ToString(e.ErrorCode)
		text := fmt.Errorf("%s: %s", code, aws.ToString(e.ErrorMessage))
		if !fault.Unfulfillable(code) && code != fault.NoServiceRole {
			why := fault.Explain(text)
			return &cloud.LaunchError{Reason: why.Reason, Message: why.Message, Err: fmt.Errorf("%w: %w", errNotLaunched, text)}
		}
		if fault.Quota(code) {
			quota = cmp.Or(quota, quotaError(e))
		}
		all = append(all, text)
	}
	if quota != nil { // the quota takes precedence over other errors
		return &cloud.InsufficientCapacityError{Err: fmt.Errorf("%w: %w", errNotLaunched, quota)}
	}
	return &cloud.InsufficientCapacityError{Err: fmt.Errorf("%w: %w", errNotLaunched, first(all))}
}

// quotaError returns an error that names the quota that is used up, and the fix.
func quotaError(e ec2types.CreateFleetError) error {
	code, what := aws.ToString(e.ErrorCode), "on-demand"
	if code == "MaxSpotInstanceCountExceeded" {
		what = "spot"
	}
	if code == "MaxFleetCountExceeded" {
		return fmt.Errorf("quota of EC2 fleets is used up; fix: raise it in Service Quotas (%s: %s)",
			code, aws.ToString(e.ErrorMessage))
	}
	bucket := ""
	if t := e.LaunchTemplateAndOverrides; t != nil && t.Overrides != nil && t.Overrides.InstanceType != "" {
		bucket = " for " + catalog.Bucket(string(t.Overrides.InstanceType)) + " instances"
	}
	return fmt.Errorf("quota of %s vCPUs%s is used up; fix: raise it in Service Quotas, or allow other instance families in the NodePool "+
		"(%s: %s)", what, bucket, code, aws.ToString(e.ErrorMessage))
}

// first joins at most three different errors in one line, and counts the others. A fleet call may return one error for each of
// its overrides, often with the same text.
func first(errs []error) error {
	const few = 3
	var texts []string
	for _, err := range errs {
		if !slices.Contains(texts, err.Error()) {
			texts = append(texts, err.Error())
		}
	}
	if n := len(texts) - few; n > 0 {
		texts = append(texts[:few], fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(texts, "; "))
}
