package network

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

// vpc returns all its resources for every call, and records the filters.
type vpc struct {
	subnets []ec2types.Subnet
	groups  []ec2types.SecurityGroup
	asked   []string
}

func (v *vpc) note(filters []ec2types.Filter) {
	var words []string
	for _, f := range filters {
		words = append(words, *f.Name+"="+strings.Join(f.Values, ","))
	}
	v.asked = append(v.asked, strings.Join(words, " "))
}

func (v *vpc) DescribeSubnets(
	_ context.Context, in *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options),
) (*ec2.DescribeSubnetsOutput, error) {
	v.note(in.Filters)
	return &ec2.DescribeSubnetsOutput{Subnets: v.subnets}, nil
}

func (v *vpc) DescribeSecurityGroups(
	_ context.Context, in *ec2.DescribeSecurityGroupsInput, _ ...func(*ec2.Options),
) (*ec2.DescribeSecurityGroupsOutput, error) {
	v.note(in.Filters)
	return &ec2.DescribeSecurityGroupsOutput{SecurityGroups: v.groups}, nil
}

func subnet(id, zone string, free int32) ec2types.Subnet {
	return ec2types.Subnet{
		SubnetId: aws.String(id), AvailabilityZone: aws.String(zone), AvailabilityZoneId: aws.String("id-" + zone),
		AvailableIpAddressCount: aws.Int32(free),
	}
}

func class() *awsv1.EC2NodeClass {
	return &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: 1}}
}

func TestResolve(t *testing.T) {
	v := &vpc{
		subnets: []ec2types.Subnet{subnet("s-3", "b", 5), subnet("s-2", "a", 9), subnet("s-1", "a", 9)},
		groups: []ec2types.SecurityGroup{
			{GroupId: aws.String("sg-2"), GroupName: aws.String("two")}, {GroupId: aws.String("sg-1"), GroupName: aws.String("one")},
		},
	}
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	c := class()
	c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{
		{Tags: map[string]string{"b": "2", "a": "*"}}, {ID: "s-7"}, {ID: "s-8"},
	}
	c.Spec.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{
		{ID: "sg-7"}, {Name: "web"}, {Tags: map[string]string{"t": "v"}}, {Name: "db"},
	}
	subnets, groups := NewSubnets(v, clock, time.Minute), NewGroups(v, clock, time.Minute)
	found, err := subnets.Resolve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := []Subnet{{"s-1", "a", "id-a", 9}, {"s-2", "a", "id-a", 9}, {"s-3", "b", "id-b", 5}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("subnets (-want +got)\n%s", diff)
	}
	got, err := groups.Resolve(t.Context(), c)
	if err != nil || len(got) != 2 || got[0].ID != "sg-1" || got[0].Name != "one" {
		t.Errorf("groups are %v, %v", got, err)
	}
	calls := []string{"tag-key=a tag:b=2", "subnet-id=s-7,s-8", "tag:t=v", "group-id=sg-7", "group-name=web,db"}
	if !slices.Equal(v.asked, calls) {
		t.Errorf("asked %q, want %q", v.asked, calls)
	}
	again := func(what string, want int) {
		t.Helper()
		if _, err := subnets.Resolve(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if len(v.asked) != want {
			t.Errorf("%s: %d calls, want %d", what, len(v.asked), want)
		}
	}
	again("at once", 5)
	c.Generation++
	again("the class changed", 7)
	clock.SetTime(time.Unix(60, 0))
	again("a minute later", 9)
}

// Security groups are read again after the configured interval.
func TestGroupsAreCached(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	v, c := &vpc{}, class()
	groups := NewGroups(v, clock, 2*time.Minute)
	c.Spec.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{ID: "sg-7"}}
	for _, tt := range []struct{ second, calls int }{{0, 1}, {119, 1}, {120, 2}} {
		clock.SetTime(time.Unix(int64(tt.second), 0))
		if _, err := groups.Resolve(t.Context(), c); err != nil || len(v.asked) != tt.calls {
			t.Errorf("after %d s: %d calls, want %d, %v", tt.second, len(v.asked), tt.calls, err)
		}
	}
}

// picked returns resolved subnets, and a class whose status has them.
func picked(t *testing.T, v *vpc) (*Subnets, *awsv1.EC2NodeClass, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	s, c := NewSubnets(v, clock, time.Minute), class()
	c.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "any"}}
	found, err := s.Resolve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range found {
		c.Status.Subnets = append(c.Status.Subnets, awsv1.Subnet{ID: n.ID, Zone: n.Zone, ZoneID: n.ZoneID})
	}
	return s, c, clock
}

func never(string) bool { return false }

// Launches in quick succession use different subnets of a zone. Reserved addresses that were not used are released.
func TestPickSpreads(t *testing.T) {
	v := &vpc{subnets: []ec2types.Subnet{subnet("s-1", "a", 100), subnet("s-2", "a", 90), subnet("s-3", "b", 5)}}
	s, c, clock := picked(t, v)
	need := map[string]int64{"a": 20, "b": 20, "z": 20}
	var order []string
	var picks []*Pick
	for range 4 {
		p := s.Pick(c, need, never)
		order, picks = append(order, p.In("a")), append(picks, p)
	}
	if got := fmt.Sprint(order); got != "[s-1 s-2 s-1 s-2]" {
		t.Errorf("picked %s", got)
	}
	if picks[0].In("b") != "s-3" || picks[0].In("z") != "" {
		t.Errorf("picked %q in b and %q in z", picks[0].In("b"), picks[0].In("z"))
	}
	for _, p := range picks {
		p.Settle("s-3") // all instances were launched in zone b
	}
	if p := s.Pick(c, need, never); p.In("a") != "s-1" {
		t.Errorf("picked %s although all was given back", p.In("a"))
	}
	// After a new reading from EC2, earlier reservations do not count, even if Settle is called later.
	late := s.Pick(c, need, never)
	v.subnets[0].AvailableIpAddressCount = aws.Int32(95)
	clock.SetTime(time.Unix(60, 0))
	if _, err := s.Resolve(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	late.Settle()
	if free := s.free("s-1"); free != 95 {
		t.Errorf("s-1 has %d free, EC2 said 95", free)
	}
}

func TestPickAvoidsFullSubnets(t *testing.T) {
	v := &vpc{subnets: []ec2types.Subnet{subnet("s-1", "a", 100), subnet("s-2", "a", 1)}}
	s, c, _ := picked(t, v)
	need := map[string]int64{"a": 1}
	p := s.Pick(c, need, func(id string) bool { return id == "s-1" })
	if p.In("a") != "s-2" {
		t.Errorf("picked %s, which is known to be full", p.In("a"))
	}
	p.Settle()
	if p := s.Pick(c, need, func(string) bool { return true }); p.In("a") == "" {
		t.Error("picked none where all are said to be full")
	}
	s.Exhausted("s-1")
	if p := s.Pick(c, need, never); p.In("a") == "s-1" {
		t.Error("picked a subnet that EC2 found exhausted over one with an address")
	}
}
