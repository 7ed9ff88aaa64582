package awsemu

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// A fleet launches into a reservation only with the target capacity type and the market type of that reservation.
func TestFleetTargets(t *testing.T) {
	const blockMarket, interruptibleMarket = "capacity-block", "interruptible-capacity-reservation"
	l := newLab(t)
	made := map[string]string{"": ""}
	for name, r := range map[string]control.Reservation{
		"plain": {Targeted: true}, "block": {Block: true, For: control.Duration(24 * time.Hour)}, "interruptible": {Targeted: true, Interruptible: true},
	} {
		r.Type, r.Zone, r.Count = "m5.large", "us-east-1a", 9
		made[name] = must[string](t)(l.Reserve(r))
	}
	template := func(reservation, market string) string {
		t.Helper()
		name := "lt-" + reservation + "-" + market
		data := &ec2types.RequestLaunchTemplateData{ImageId: aws.String(l.image("x86_64"))}
		if reservation != "" {
			data.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
				CapacityReservationTarget: &ec2types.CapacityReservationTarget{CapacityReservationId: aws.String(made[reservation])},
			}
		}
		if market != "" {
			data.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketType(market)}
		}
		_, err := l.ec2.CreateLaunchTemplate(bg(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data})
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, tt := range []struct {
		name, reservation, market, target string
		types                             []ec2types.FleetReservationType
		change                            func(*ec2.CreateFleetInput)
		refused, failed                   string // code of the whole call, or of the override
	}{
		{name: "plain", reservation: "plain", target: "on-demand"},
		{name: "plain by its type", reservation: "plain", target: "reserved-capacity", types: []ec2types.FleetReservationType{"on-demand-capacity-reservation"}},
		{name: "block", reservation: "block", market: blockMarket, target: "capacity-block"},
		{name: "interruptible", reservation: "interruptible", market: interruptibleMarket, target: "reserved-capacity", types: []ec2types.FleetReservationType{interruptibleMarket}},
		{name: "a block on demand", reservation: "block", market: blockMarket, target: "on-demand", failed: "InvalidParameterCombination"},
		{name: "a block of no market", reservation: "block", target: "capacity-block", failed: "InvalidParameterValue"},
		{name: "a plain one of a market", reservation: "plain", market: blockMarket, target: "on-demand", failed: "InvalidParameterValue"},
		{name: "a plain one as a block", reservation: "plain", target: "capacity-block", failed: "InvalidParameterCombination"},
		{name: "an interruptible one on demand", reservation: "interruptible", market: interruptibleMarket, target: "on-demand", failed: "InvalidParameterCombination"},
		{name: "an interruptible one of another type", reservation: "interruptible", market: interruptibleMarket, target: "reserved-capacity",
			types: []ec2types.FleetReservationType{"on-demand-capacity-reservation"}, failed: "InvalidParameterCombination"},
		{name: "a block without a reservation", target: "capacity-block", failed: "InvalidParameterCombination"},
		{name: "a market without a reservation", market: blockMarket, target: "on-demand", failed: "InvalidParameterValue"},
		{name: "types of another target", reservation: "plain", target: "on-demand", types: []ec2types.FleetReservationType{interruptibleMarket}, refused: "InvalidParameterCombination"},
		{name: "an unknown type", reservation: "plain", target: "reserved-capacity", types: []ec2types.FleetReservationType{"some"}, refused: "InvalidParameterValue"},
		{name: "a block with an on-demand part", reservation: "block", market: blockMarket, target: "capacity-block", change: func(in *ec2.CreateFleetInput) {
			in.TargetCapacitySpecification.OnDemandTargetCapacity = aws.Int32(1)
		}, refused: "InvalidParameterCombination"},
		{name: "a block with options of reservations", reservation: "block", market: blockMarket, target: "capacity-block", change: func(in *ec2.CreateFleetInput) {
			in.OnDemandOptions.CapacityReservationOptions = &ec2types.CapacityReservationOptionsRequest{UsageStrategy: "use-capacity-reservations-first"}
		}, refused: "InvalidParameterCombination"},
		{name: "two blocks", reservation: "block", market: blockMarket, target: "capacity-block", change: func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs = append(in.LaunchTemplateConfigs, l.fleet("lt-plain-", "on-demand", 1, choice{typ: "m5.large", zone: "us-east-1a"}).LaunchTemplateConfigs...)
		}, refused: "InvalidParameterCombination"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name := "lt-" + tt.reservation + "-" + tt.market
			if _, err := l.ec2.DescribeLaunchTemplates(bg(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}}); err != nil {
				template(tt.reservation, tt.market)
			}
			in := l.fleet(name, ec2types.DefaultTargetCapacityType(tt.target), 1, choice{typ: "m5.large", zone: "us-east-1a"})
			if tt.types != nil {
				in.ReservedCapacityOptions = &ec2types.ReservedCapacityOptionsRequest{ReservationTypes: tt.types}
			}
			if tt.change != nil {
				tt.change(in)
			}
			out, err := l.ec2.CreateFleet(bg(), in)
			switch {
			case tt.refused != "":
				wantCode(t, err, tt.refused)
			case err != nil:
				t.Error(err)
			case tt.failed != "":
				if len(out.Instances) != 0 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.failed {
					t.Errorf("launched %+v, errors %+v, want %s", out.Instances, out.Errors, tt.failed)
				}
			case len(out.Instances) != 1:
				t.Errorf("errors are %+v", out.Errors)
			}
		})
	}
}

// EC2 gives no public address to an instance with several network interfaces.
func TestPublicAddressOfSeveralInterfaces(t *testing.T) {
	l := newLab(t)
	for _, tt := range []struct {
		name   string
		public *bool
		count  int
		code   string
	}{
		{"one-public", aws.Bool(true), 1, ""}, {"two-public", aws.Bool(true), 2, "InvalidParameterCombination"},
		{"two-private", aws.Bool(false), 2, ""}, {"two", nil, 2, ""},
	} {
		data := &ec2types.RequestLaunchTemplateData{ImageId: aws.String(l.image("x86_64"))}
		for n := range tt.count {
			nic := ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{DeviceIndex: aws.Int32(int32(n)), Groups: []string{l.nodeGroup()}}
			if n == 0 {
				nic.AssociatePublicIpAddress = tt.public
			}
			data.NetworkInterfaces = append(data.NetworkInterfaces, nic)
		}
		must[*ec2.CreateLaunchTemplateOutput](t)(l.ec2.CreateLaunchTemplate(bg(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &tt.name, LaunchTemplateData: data}))
		out := must[*ec2.CreateFleetOutput](t)(l.ec2.CreateFleet(bg(), l.fleet(tt.name, onDemand, 1, choice{typ: "m5.large", zone: "us-east-1a"})))
		code := ""
		if len(out.Errors) > 0 {
			code = *out.Errors[0].ErrorCode
		}
		if code != tt.code || (len(out.Instances) == 1) != (tt.code == "") {
			t.Errorf("%s: %d instances, error %q, want %q", tt.name, len(out.Instances), code, tt.code)
		}
	}
}
