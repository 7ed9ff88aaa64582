package launch

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-go/karpenter/cloud"
)

func fleetError(code, message string) ec2types.CreateFleetError {
	return ec2types.CreateFleetError{ErrorCode: aws.String(code), ErrorMessage: aws.String(message)}
}

func TestOutcome(t *testing.T) {
	ice := fleetError("InsufficientInstanceCapacity", "none left")
	for _, tt := range []struct {
		name   string
		errs   []ec2types.CreateFleetError
		reason string // reason of the LaunchError; empty for an InsufficientCapacityError
	}{
		{"only capacity", []ec2types.CreateFleetError{ice, fleetError("UnfulfillableCapacity", "")}, ""},
		{"the spot role", []ec2types.CreateFleetError{fleetError("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "")}, ""},
		{"capacity and something else", []ec2types.CreateFleetError{ice, fleetError("UnauthorizedOperation", "no")}, "Unauthorized"},
		{"an image that is gone", []ec2types.CreateFleetError{fleetError("InvalidAMIID.NotFound", "")}, "AMINotFound"},
		{"two networks", []ec2types.CreateFleetError{fleetError("InvalidParameter", "sg-1 and subnet-1 belong to different networks")},
			"SecurityGroupSubnetVPCMismatch"},
		{"something new", []ec2types.CreateFleetError{fleetError("Whatever", "")}, "LaunchFailed"},
		{"nothing at all", nil, "LaunchFailed"},
	} {
		err := outcomeError(tt.errs)
		var capacity *cloud.InsufficientCapacityError
		var launch *cloud.LaunchError
		switch {
		case tt.reason == "" && !errors.As(err, &capacity):
			t.Errorf("%s: %v, want no capacity", tt.name, err)
		case tt.reason != "" && (!errors.As(err, &launch) || launch.Reason != tt.reason || launch.Message == ""):
			t.Errorf("%s: %v, want reason %s", tt.name, err, tt.reason)
		}
	}
}
