package launch

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// runs answers dry runs of RunInstances by subnet.
type runs struct {
	answers map[string]error
	asked   []string
}

func (r *runs) RunInstances(_ context.Context, in *ec2.RunInstancesInput, _ ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error) {
	id := aws.ToString(in.NetworkInterfaces[0].SubnetId)
	r.asked = append(r.asked, id)
	return nil, r.answers[id]
}

// Dry runs use the subnets in zones where the type is offered. If a call gives no result, the check is repeated, even
// if calls for other subnets are refused.
func TestDryRunsBySubnet(t *testing.T) {
	code := func(c string) error { return &smithy.GenericAPIError{Code: c, Message: "m"} }
	passes, unsupported := code("DryRunOperation"), code("Unsupported")
	for _, tt := range []struct {
		name    string
		answers [3]error // of the subnets a, b and e
		zones   []string // where the type is offered
		asked   string
		want    string // reason, "again" or "error"; empty for no finding
	}{
		{"a zone without the type is left out", [3]error{passes, passes, unsupported}, []string{"a", "b"}, "a", ""},
		{"the second passes", [3]error{code("InsufficientFreeAddressesInSubnet"), passes, unsupported}, []string{"a", "b"}, "a b", ""},
		{"offered nowhere", [3]error{unsupported, unsupported, unsupported}, nil, "e a b", "error"},
		{"no result after a refusal", [3]error{unsupported, context.DeadlineExceeded, passes}, []string{"a", "b"}, "a b", "again"},
		{"throttled after a refusal", [3]error{unsupported, code("RequestLimitExceeded"), passes}, []string{"a", "b"}, "a b", "again"},
		{"denied", [3]error{code("UnauthorizedOperation"), code("UnauthorizedOperation"), passes}, []string{"a", "b"}, "a b",
			awsv1.ReasonRunInstancesAuthCheckFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			class := templateClass()
			class.Status.Subnets = []awsv1.Subnet{{ID: "e", Zone: "e"}, {ID: "a", Zone: "a"}, {ID: "b", Zone: "b"}}
			var offers []model.Offering
			for _, z := range tt.zones {
				offers = append(offers, model.Offering{Zone: z})
			}
			choice := Choice{Types: []*model.InstanceType{{Name: "m5.large"}}, Offers: [][]model.Offering{offers}}
			g := templateGroup{members: []int{0}}
			g.template.Data = ec2types.RequestLaunchTemplateData{
				NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0)}},
			}
			api := &runs{answers: map[string]error{"a": tt.answers[0], "b": tt.answers[1], "e": tt.answers[2]}}
			l := &Launcher{Config: Config{Run: api}}
			f, err := l.dryRunInstances(t.Context(), Request{Class: class}, choice, g)
			got := f.Reason
			switch {
			case err != nil:
				got = "error"
			case f.Again > 0:
				got = "again"
			}
			if got != tt.want || !slices.Equal(api.asked, strings.Fields(tt.asked)) {
				t.Errorf("result is %q (%+v, %v) after %v, want %q after %s", got, f, err, api.asked, tt.want, tt.asked)
			}
		})
	}
}

// If the pools can only launch types that are sold as capacity blocks, the dry runs are those of a launch in one block.
func TestDryRunsInACapacityBlock(t *testing.T) {
	block := func(id, zone string, price float64) model.Offering {
		return model.Offering{Zone: zone, CapacityType: apiv1.CapacityTypeReserved, ReservationID: id, Price: price, Requirements: require.NewSet(
			require.New(awsv1.LabelCapacityReservationType, require.In, string(awsv1.CapacityReservationTypeCapacityBlock)),
		)}
	}
	types := []*model.InstanceType{
		{Name: "p6.large", Offerings: []model.Offering{block("cr-1", "a", 2), block("cr-2", "b", 2)}},
		{Name: "p6.small", Offerings: []model.Offering{block("cr-3", "b", 1)}},
	}
	choice := sampleChoice(types, awsv1.TenancyDefault)
	if len(choice.Types) != 1 || choice.Types[0].Name != "p6.small" || choice.CapacityType != apiv1.CapacityTypeReserved {
		t.Fatalf("the choice is %+v", choice)
	}
	class := templateClass()
	class.Status.Subnets = []awsv1.Subnet{{ID: "in-a", Zone: "a"}, {ID: "in-b", Zone: "b"}}
	g := templateGroup{members: []int{0}, reservation: reservationOf(choice.Offers[0][0])}
	in := dryRunFleetInput(Request{Class: class}, choice, []templateGroup{g})
	overrides := in.LaunchTemplateConfigs[0].Overrides
	if len(overrides) != 1 || *overrides[0].SubnetId != "in-b" || in.TargetCapacitySpecification.DefaultTargetCapacityType != "capacity-block" {
		t.Errorf("the fleet is for %v in %+v", in.TargetCapacitySpecification.DefaultTargetCapacityType, overrides)
	}
	onDemand := &model.InstanceType{Name: "m5.xlarge", Offerings: []model.Offering{{Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand, Price: 9}}}
	if c := sampleChoice(append(types, onDemand), awsv1.TenancyDefault); c.Types[0] != onDemand || c.CapacityType != apiv1.CapacityTypeOnDemand {
		t.Errorf("with another type, the choice is %+v", c)
	}
}

// A dry run for which EC2 does not find the launch template makes the next check look for the template again.
func TestDryRunInvalidatesTemplates(t *testing.T) {
	class := templateClass()
	class.Status.Subnets = []awsv1.Subnet{{ID: "a", Zone: "a"}}
	choice := Choice{Types: []*model.InstanceType{{Name: "m5.large"}}, Offers: [][]model.Offering{{{Zone: "a"}}}}
	g := templateGroup{members: []int{0}, template: Template{Name: "gone", Data: ec2types.RequestLaunchTemplateData{
		NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0)}},
	}}}
	store := NewTemplateStore(nil, "c", clocktesting.NewFakePassiveClock(time.Unix(1e9, 0)))
	e := store.use("gone")
	e.seen = store.clock.Now()
	api := &runs{answers: map[string]error{"a": &smithy.GenericAPIError{Code: fault.NoLaunchTemplate}}}
	l := &Launcher{Config: Config{Run: api, Templates: store}}
	if f, err := l.dryRunInstances(t.Context(), Request{Class: class}, choice, g); err != nil || f.Again == 0 || store.exists(e) {
		t.Errorf("result is %+v, %v; the template counts as existing: %v", f, err, store.exists(e))
	}
}
