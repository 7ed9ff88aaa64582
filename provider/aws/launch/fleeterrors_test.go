package launch

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	clocktesting "k8s.io/utils/clock/testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/provider/aws/catalog"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
)

func apiError(code, message string) ec2types.CreateFleetError {
	return ec2types.CreateFleetError{ErrorCode: aws.String(code), ErrorMessage: aws.String(message)}
}

func TestOutcome(t *testing.T) {
	ice := apiError("InsufficientInstanceCapacity", "none left")
	for _, tt := range []struct {
		name   string
		errs   []ec2types.CreateFleetError
		reason string // reason of the LaunchError; empty for an InsufficientCapacityError
	}{
		{"only capacity", []ec2types.CreateFleetError{ice, apiError("UnfulfillableCapacity", "")}, ""},
		{"the spot role", []ec2types.CreateFleetError{apiError("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "")}, ""},
		{"capacity and something else", []ec2types.CreateFleetError{ice, apiError("UnauthorizedOperation", "no")}, "Unauthorized"},
		{"an image that is gone", []ec2types.CreateFleetError{apiError("InvalidAMIID.NotFound", "")}, "AMINotFound"},
		{"two networks", []ec2types.CreateFleetError{apiError("InvalidParameter", "sg-1 and subnet-1 belong to different networks")},
			"SecurityGroupSubnetVPCMismatch"},
		{"something new", []ec2types.CreateFleetError{apiError("Whatever", "")}, "LaunchFailed"},
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

// The errors of a fleet call are in one line, equal ones once, at most three.
func TestOutcomeText(t *testing.T) {
	ice := func(message string) ec2types.CreateFleetError {
		return apiError("InsufficientInstanceCapacity", message)
	}
	for _, tt := range []struct {
		errs []ec2types.CreateFleetError
		want string
	}{
		{[]ec2types.CreateFleetError{ice("a"), ice("a"), ice("b")},
			"insufficient capacity: EC2 launched nothing: InsufficientInstanceCapacity: a; InsufficientInstanceCapacity: b"},
		{[]ec2types.CreateFleetError{ice("a"), ice("b"), ice("a"), ice("c"), ice("d"), ice("e")},
			"insufficient capacity: EC2 launched nothing: InsufficientInstanceCapacity: a; InsufficientInstanceCapacity: b; " +
				"InsufficientInstanceCapacity: c; and 2 more"},
	} {
		if got := outcomeError(tt.errs).Error(); got != tt.want {
			t.Errorf("%s\nwant\n%s", got, tt.want)
		}
	}
}

// What EC2 refuses in a placement group is available outside of the group.
func TestRefusalsInAPlacementGroup(t *testing.T) {
	for _, code := range []string{"Unsupported", "InsufficientInstanceCapacity"} {
		shortages := catalog.NewShortages(clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)))
		l := &Launcher{Config: Config{Shortages: shortages}}
		o := &order{Request: Request{PlacementGroup: &placement.Group{ID: "pg-1"}}, choice: Choice{CapacityType: apiv1.CapacityTypeOnDemand}}
		l.recordUnavailable(o, fleetError{code: code, zone: "a", instanceType: "m5.large"})
		for group, want := range map[string]bool{"pg-1": true, "pg-2": false, "": false} {
			ask := catalog.Ask{Type: "m5.large", Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand, Place: catalog.Place{Group: group}}
			if got := shortages.Known(ask); got != want {
				t.Errorf("%s: in group %q the offering is unavailable: %v, want %v", code, group, got, want)
			}
		}
	}
}

// An offering that EC2 does not support is tried again after six hours if the zone does not offer the type, and otherwise after
// three minutes, because the cause may be an option of the class.
func TestUnsupported(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"Your requested instance type (m5.large) is not supported in your requested Availability Zone (a).": 6 * time.Hour,
		"The requested configuration is currently not supported.":                                           3 * time.Minute,
		"The tenancy of 'dedicated' is not supported for the specified instance type.":                      3 * time.Minute,
	} {
		clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
		shortages := catalog.NewShortages(clock)
		l := &Launcher{Config: Config{Shortages: shortages}}
		o := &order{choice: Choice{CapacityType: apiv1.CapacityTypeOnDemand}}
		l.recordUnavailable(o, fleetError{code: "Unsupported", text: text, zone: "a", instanceType: "m5.large"})
		ask := catalog.Ask{Type: "m5.large", Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand}
		clock.Step(want - time.Second)
		if !shortages.Known(ask) {
			t.Errorf("%s: the offering is available before %v", text, want)
		}
		clock.Step(time.Second)
		if shortages.Known(ask) {
			t.Errorf("%s: the offering is unavailable after %v", text, want)
		}
	}
}

// A spread group with seven instances in a zone has no room there for any type and capacity type, also those of other launches.
func TestFullSpreadGroup(t *testing.T) {
	shortages := catalog.NewShortages(clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)))
	l := &Launcher{Config: Config{Shortages: shortages}}
	o := &order{Request: Request{PlacementGroup: &placement.Group{ID: "pg-1"}}, choice: Choice{CapacityType: apiv1.CapacityTypeOnDemand}}
	l.recordUnavailable(o, fleetError{
		code: "InsufficientInstanceCapacity", text: "You've reached the " + spreadLimit + ".", zone: "a", instanceType: "m5.large",
	})
	for _, tt := range []struct {
		group, zone, capacityType string
		want                      bool
	}{
		{"pg-1", "a", apiv1.CapacityTypeOnDemand, true}, {"pg-1", "a", apiv1.CapacityTypeSpot, true},
		{"pg-1", "a", apiv1.CapacityTypeReserved, true}, {"pg-1", "b", apiv1.CapacityTypeOnDemand, false},
		{"pg-2", "a", apiv1.CapacityTypeOnDemand, false}, {"", "a", apiv1.CapacityTypeOnDemand, false},
	} {
		ask := catalog.Ask{Type: "c5.large", Zone: tt.zone, CapacityType: tt.capacityType, Place: catalog.Place{Group: tt.group}}
		if got := shortages.Known(ask); got != tt.want {
			t.Errorf("in group %q in zone %s, %s: the offering is unavailable: %v, want %v", tt.group, tt.zone, tt.capacityType, got, tt.want)
		}
	}
}

// What EC2 refuses in the partition that a launch required is available in the other partitions of the group.
func TestRefusalsInAPartition(t *testing.T) {
	shortages := catalog.NewShortages(clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)))
	l := &Launcher{Config: Config{Shortages: shortages}}
	o := &order{Request: Request{PlacementGroup: &placement.Group{ID: "pg-1", Partitions: 3}}, choice: Choice{CapacityType: apiv1.CapacityTypeOnDemand, Partition: "2"}}
	l.recordUnavailable(o, fleetError{code: "InsufficientInstanceCapacity", zone: "a", instanceType: "m5.large"})
	for partition, want := range map[string]bool{"1": false, "2": true, "3": false} {
		ask := catalog.Ask{Type: "m5.large", Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand, Place: catalog.Place{Group: "pg-1", Partition: partition}}
		if got := shortages.Known(ask); got != want {
			t.Errorf("in partition %s the offering is unavailable: %v, want %v", partition, got, want)
		}
	}
}
