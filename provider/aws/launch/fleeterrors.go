package launch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// A fleetError is one error in the response to a fleet call, with the subnet, zone and type that EC2 did not launch.
type fleetError struct{ code, text, subnet, zone, zoneID, instanceType string }

// parseError returns the fields of an error of the order's fleet call. Fields that the error does not have are empty.
func (o *order) parseError(e ec2types.CreateFleetError) fleetError {
	out := fleetError{code: aws.ToString(e.ErrorCode), text: aws.ToString(e.ErrorMessage)}
	if t := e.LaunchTemplateAndOverrides; t != nil && t.Overrides != nil {
		out.subnet, out.zone = aws.ToString(t.Overrides.SubnetId), aws.ToString(t.Overrides.AvailabilityZone)
		out.instanceType = string(t.Overrides.InstanceType)
	}
	for _, n := range o.Class.Status.Subnets {
		if n.ID == out.subnet {
			out.zone, out.zoneID = n.Zone, n.ZoneID
		}
	}
	return out
}

// An unavailability is what an error of a fleet call shows to be unavailable. Later launches do not use it for a while.
type unavailability uint8

const (
	nothingUnavailable  unavailability = iota // the error has another cause
	subnetFull                                // the subnet has no free addresses
	spotForbidden                             // the service-linked role of spot instances is missing
	groupFull                                 // the placement group has no room in the zone, for instances of any type
	reservationFull                           // the capacity reservation is used up
	reservationUnusable                       // the type cannot be launched in the capacity reservation
	quotaUsedUp                               // the account's quota of vCPUs is used up
	typeNotSold                               // the zone does not offer the type
	offeringUnsupported                       // the type does not support the tenancy, the image or an option of the launch
	offeringExhausted                         // the zone has no capacity for the type
)

// spreadLimit is a part of EC2's error text when a spread placement group has seven instances in a zone, which is the
// limit.
const spreadLimit = "limit of instances in this spread placement group"

// notInZone is a part of EC2's text of the error Unsupported when a zone does not offer the type. The same code stands for a
// tenancy, an image or an option that the type does not support.
const notInZone = "not supported in your requested Availability Zone"

// unavailable returns what the error of the order's fleet call shows to be unavailable.
func (o *order) unavailable(e fleetError) unavailability {
	reservation := o.reservationFor(e.instanceType, e.zone)
	switch {
	case e.code == fault.NoFreeAddresses && e.subnet != "":
		return subnetFull
	case e.code == fault.NoServiceRole:
		return spotForbidden
	case !fault.Unfulfillable(e.code) || e.instanceType == "":
		return nothingUnavailable
	case o.place().Group != "" && strings.Contains(e.text, spreadLimit):
		return groupFull
	case reservation.ID != "" && e.code == fault.ReservationFull:
		return reservationFull
	case reservation.ID != "":
		return reservationUnusable
	case fault.Quota(e.code) && e.code != "MaxFleetCountExceeded":
		return quotaUsedUp
	case e.code == "Unsupported" && strings.Contains(e.text, notInZone):
		return typeNotSold
	case e.code == "Unsupported":
		return offeringUnsupported
	}
	return offeringExhausted
}

// recordErrors counts the errors of a fleet call and records what they show to be unavailable, even if the call launched instances.
func (l *Launcher) recordErrors(orders []*order, errs []ec2types.CreateFleetError) {
	first := orders[0]
	for _, raw := range errs {
		e := first.parseError(raw)
		l.failures.WithLabelValues(e.zone, e.zoneID, first.choice.CapacityType, e.code).Inc()
		l.recordUnavailable(first, e)
		if e.code == fault.NoServiceRole {
			l.warnMissingSpotRole(orders)
		}
	}
}

// recordUnavailable records what the error shows to be unavailable, for later launches.
func (l *Launcher) recordUnavailable(o *order, e fleetError) {
	capacityType, in, reservation := o.choice.CapacityType, o.place(), o.reservationFor(e.instanceType, e.zone)
	switch o.unavailable(e) {
	case subnetFull:
		l.Shortages.MarkSubnet(e.subnet)
		l.Subnets.Exhausted(e.subnet)
	case spotForbidden:
		l.Shortages.MarkCapacityType(apiv1.CapacityTypeSpot)
	case groupFull:
		l.Shortages.MarkGroup(e.zone, in.Group)
	case reservationFull:
		l.Reserved.Full(reservation.ID)
	case reservationUnusable:
		l.Shortages.MarkReservation(e.instanceType, e.zone, reservation.ID)
	case quotaUsedUp:
		l.Shortages.MarkQuota(e.instanceType, capacityType, o.vcpusOf(e.instanceType))
	case typeNotSold:
		l.Shortages.MarkNotSold(e.instanceType, e.zone, capacityType, in)
	case offeringUnsupported:
		l.Shortages.MarkUnsupported(e.instanceType, e.zone, capacityType, in)
	case offeringExhausted:
		l.Shortages.MarkOffering(e.instanceType, e.zone, capacityType, in)
	}
}

// warnMissingSpotRole publishes an event on each claim about the missing service-linked role of spot instances.
func (l *Launcher) warnMissingSpotRole(orders []*order) {
	for _, o := range orders {
		l.warn(o.Claim, telemetry.EventSpotSLRCreationFailed,
			"Not authorized to create the service-linked role AWSServiceRoleForEC2Spot, which spot instances need; fix: "+
				"create the role, or allow iam:CreateServiceLinkedRole to the controller")
	}
}

// outcomeError returns the error for claims that got no instance. If all errors of the call are about capacity or about the
// missing service-linked role of spot instances, it is an InsufficientCapacityError. Otherwise it is a LaunchError of the
// first other error. Without errors it is a LaunchError of errTooFew. It is never nil.
func outcomeError(errs []ec2types.CreateFleetError) error {
	if len(errs) == 0 {
		return launchError(errTooFew)
	}
	var all []error
	var quota error // takes precedence over other errors
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
	if quota != nil {
		return &cloud.InsufficientCapacityError{Err: fmt.Errorf("%w: %w", errNotLaunched, quota)}
	}
	return &cloud.InsufficientCapacityError{Err: fmt.Errorf("%w: %w", errNotLaunched, joinDistinct(all))}
}

// errTooFew is the error if EC2 launched too few instances and returned no error.
var errTooFew = errors.New("too few instances returned")

// errNotLaunched is the first part of the error of a fleet call that launched no instance for a claim.
var errNotLaunched = errors.New("EC2 launched nothing")

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

// joinDistinct joins at most three different errors in one line, and counts the others. A fleet call may return one error for each
// of its overrides, often with the same text.
func joinDistinct(errs []error) error {
	const most = 3
	var texts []string
	for _, err := range errs {
		if !slices.Contains(texts, err.Error()) {
			texts = append(texts, err.Error())
		}
	}
	if n := len(texts) - most; n > 0 {
		texts = append(texts[:most], fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(texts, "; "))
}
