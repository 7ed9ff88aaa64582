package awsemu

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

// reservation returns the capacity reservation with the id.
func (l *lab) reservation(id string) ec2types.CapacityReservation {
	l.t.Helper()
	out := must[*ec2.DescribeCapacityReservationsOutput](l.t)(l.ec2.DescribeCapacityReservations(bg(),
		&ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}}))
	return out.CapacityReservations[0]
}

// Any matching launch uses an open reservation, unless its preference is none. A targeted reservation is used only by launches
// that name it. These launches fail when it is full.
func TestReservations(t *testing.T) {
	l := newLab(t)
	open := must[string](t)(l.Reserve(control.Reservation{Type: "m5.large", Zone: "us-east-1a", Count: 1, Tags: map[string]string{"a": "1"}}))
	only := must[string](t)(l.Reserve(control.Reservation{Type: "m5.large", Zone: "us-east-1a", Count: 1, Targeted: true, For: control.Duration(time.Hour)}))
	l.profile("node")
	run := func(spec *ec2types.CapacityReservationSpecification) (*ec2.RunInstancesOutput, error) {
		return l.ec2.RunInstances(bg(), &ec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: aws.String(l.image("x86_64")), InstanceType: "m5.large",
			SubnetId: aws.String(l.privateSubnet("us-east-1a")), LaunchTemplate: &ec2types.LaunchTemplateSpecification{LaunchTemplateName: spec2name(l, spec)},
		})
	}
	named := func(id string) *ec2types.CapacityReservationSpecification {
		return &ec2types.CapacityReservationSpecification{
			CapacityReservationPreference: ec2types.CapacityReservationPreferenceCapacityReservationsOnly,
			CapacityReservationTarget:     &ec2types.CapacityReservationTarget{CapacityReservationId: aws.String(id)},
		}
	}
	off := &ec2types.CapacityReservationSpecification{CapacityReservationPreference: ec2types.CapacityReservationPreferenceNone}
	must[*ec2.RunInstancesOutput](t)(run(off))
	if n := *l.reservation(open).AvailableInstanceCount; n != 1 {
		t.Errorf("a launch with preference none has used a reservation: %d left", n)
	}
	first := must[*ec2.RunInstancesOutput](t)(run(named(only)))
	if _, err := run(named(only)); err == nil {
		t.Error("two instances run in a reservation for one")
	} else {
		wantCode(t, err, "ReservationCapacityExceeded")
	}
	must[*ec2.RunInstancesOutput](t)(run(nil))
	if o, r := l.reservation(open), l.reservation(only); *o.AvailableInstanceCount != 0 || *r.AvailableInstanceCount != 0 ||
		r.InstanceMatchCriteria != "targeted" || r.EndDate == nil || o.EndDate != nil {
		t.Errorf("reservations are %+v and %+v", o, r)
	}
	described := func() ec2types.Instance {
		out := must[*ec2.DescribeInstancesOutput](t)(l.ec2.DescribeInstances(bg(), &ec2.DescribeInstancesInput{InstanceIds: []string{*first.Instances[0].InstanceId}}))
		return out.Reservations[0].Instances[0]
	}
	if i := described(); aws.ToString(i.CapacityReservationId) != only {
		t.Errorf("the instance runs in %q", aws.ToString(i.CapacityReservationId))
	}
	l.clock.Step(time.Hour)
	if i := described(); i.CapacityReservationId != nil || l.reservation(only).State != "expired" {
		t.Errorf("after its end the instance runs in %v", i.CapacityReservationId)
	}
	_, err := l.ec2.DescribeCapacityReservations(bg(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{"cr-0"}})
	wantCode(t, err, "InvalidCapacityReservationId.NotFound")
	byTag := must[*ec2.DescribeCapacityReservationsOutput](t)(l.ec2.DescribeCapacityReservations(bg(), &ec2.DescribeCapacityReservationsInput{
		Filters: []ec2types.Filter{{Name: aws.String("tag:a"), Values: []string{"1"}}, {Name: aws.String("state"), Values: []string{"active"}}},
	}))
	if len(byTag.CapacityReservations) != 1 || *byTag.CapacityReservations[0].CapacityReservationId != open {
		t.Errorf("by tag: %+v", byTag.CapacityReservations)
	}
}

// spec2name creates a template with that specification and returns its name.
func spec2name(l *lab, spec *ec2types.CapacityReservationSpecification) *string {
	l.t.Helper()
	name := strings.ReplaceAll(l.world.NewID("t"), "-", "")
	data := &ec2types.RequestLaunchTemplateData{ImageId: aws.String(l.image("x86_64"))}
	if spec != nil {
		data.CapacityReservationSpecification = &ec2types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: spec.CapacityReservationPreference, CapacityReservationTarget: spec.CapacityReservationTarget,
		}
	}
	must[*ec2.CreateLaunchTemplateOutput](l.t)(l.ec2.CreateLaunchTemplate(bg(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: data,
	}))
	return &name
}

func TestPlacementGroups(t *testing.T) {
	l := newLab(t)
	id := must[string](t)(l.Place(control.Placement{Name: "racks", Strategy: "partition", Partitions: 2}))
	if _, err := l.Place(control.Placement{Name: "racks", Strategy: "spread"}); err == nil {
		t.Error("two groups of a name")
	}
	out := must[*ec2.DescribePlacementGroupsOutput](t)(l.ec2.DescribePlacementGroups(bg(), &ec2.DescribePlacementGroupsInput{
		GroupNames: []string{"racks"}, Filters: []ec2types.Filter{{Name: aws.String("state"), Values: []string{"available"}}},
	}))
	if g := out.PlacementGroups; len(g) != 1 || *g[0].GroupId != id || g[0].Strategy != "partition" || *g[0].PartitionCount != 2 {
		t.Errorf("groups are %+v", g)
	}
	_, err := l.ec2.DescribePlacementGroups(bg(), &ec2.DescribePlacementGroupsInput{GroupIds: []string{"pg-0"}})
	wantCode(t, err, "InvalidPlacementGroup.Unknown")
	run := func(group string) (*ec2.RunInstancesOutput, error) {
		return l.ec2.RunInstances(bg(), &ec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: aws.String(l.image("x86_64")), InstanceType: "m5.large",
			SubnetId: aws.String(l.privateSubnet("us-east-1a")), Placement: &ec2types.Placement{GroupId: aws.String(group)},
		})
	}
	var partitions []int32
	for range 3 {
		i := must[*ec2.RunInstancesOutput](t)(run(id)).Instances[0]
		if n := i.Placement.PartitionNumber; n != nil {
			t.Errorf("the partition of a pending instance is %d", *n)
		}
		l.clock.Step(time.Minute)
		described := must[*ec2.DescribeInstancesOutput](t)(l.ec2.DescribeInstances(bg(), &ec2.DescribeInstancesInput{InstanceIds: []string{*i.InstanceId}}))
		partitions = append(partitions, aws.ToInt32(described.Reservations[0].Instances[0].Placement.PartitionNumber))
	}
	if partitions[0] != 1 || partitions[1] != 2 || partitions[2] != 1 {
		t.Errorf("partitions are filled as %v", partitions)
	}
	_, err = run("pg-0")
	wantCode(t, err, "InvalidPlacementGroup.Unknown")
}

func TestZonalShift(t *testing.T) {
	l := newLab(t)
	arc := arczonalshift.New(arczonalshift.Options{
		Region: "us-east-1", BaseEndpoint: &l.url, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
	})
	ask := func() *arczonalshift.GetManagedResourceOutput {
		t.Helper()
		return must[*arczonalshift.GetManagedResourceOutput](t)(arc.GetManagedResource(bg(), &arczonalshift.GetManagedResourceInput{
			ResourceIdentifier: aws.String("arn:aws:eks:us-east-1:123456789012:cluster/demo"),
		}))
	}
	if n := len(ask().ZonalShifts); n != 0 {
		t.Errorf("%d shifts at first", n)
	}
	if err := l.world.ShiftAway("us-east-1a", time.Hour, world.Shift{}); err != nil {
		t.Fatal(err)
	}
	s := ask().ZonalShifts
	if len(s) != 1 || s[0].AppliedStatus != "APPLIED" || !s[0].ExpiryTime.Equal(start.Add(time.Hour)) || !strings.HasPrefix(*s[0].AwayFrom, "use1-az") {
		t.Errorf("shifts are %+v", s)
	}
	l.clock.Step(time.Hour)
	if n := len(ask().ZonalShifts); n != 0 {
		t.Errorf("%d shifts after an hour", n)
	}
	if err := l.world.ShiftAway("mars-1a", time.Hour, world.Shift{}); err == nil {
		t.Error("shifted away from a zone that is none")
	}
	if _, err := arc.GetManagedResource(bg(), &arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String("arn:aws:eks:us-east-1:123456789012:cluster/other")}); err == nil {
		t.Error("another cluster is managed too")
	}
}

func TestStatusChecks(t *testing.T) {
	l := newLab(t)
	l.profile("node")
	l.template("plain", "")
	out := must[*ec2.CreateFleetOutput](t)(l.ec2.CreateFleet(bg(), l.fleet("plain", "on-demand", 2, choice{typ: "m5.large", zone: "us-east-1a"})))
	ids := out.Instances[0].InstanceIds
	l.clock.Step(time.Minute)
	impaired := func(filter, value string) []ec2types.InstanceStatus {
		t.Helper()
		return must[*ec2.DescribeInstanceStatusOutput](t)(l.ec2.DescribeInstanceStatus(bg(), &ec2.DescribeInstanceStatusInput{
			Filters: []ec2types.Filter{{Name: aws.String(filter), Values: []string{value}}},
		})).InstanceStatuses
	}
	for _, e := range []control.Event{
		{Instance: ids[0], Kind: "impaired", Since: control.Duration(2 * time.Minute)}, {Instance: ids[1], Kind: "retirement"},
	} {
		if err := l.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	got := impaired("instance-status.status", "impaired")
	if len(got) != 1 || *got[0].InstanceId != ids[0] || !got[0].InstanceStatus.Details[0].ImpairedSince.Equal(start.Add(-time.Minute)) {
		t.Errorf("impaired are %+v", got)
	}
	if got := impaired("event.code", "instance-retirement"); len(got) != 1 || *got[0].InstanceId != ids[1] || got[0].Events[0].NotBefore == nil {
		t.Errorf("to be retired are %+v", got)
	}
	if n := len(impaired("system-status.status", "impaired")); n != 0 {
		t.Errorf("%d hosts are impaired", n)
	}
	if err := l.Event(control.Event{Instance: ids[0], Kind: "healthy"}); err != nil || len(impaired("instance-status.status", "impaired")) != 0 {
		t.Errorf("healed: %v", err)
	}
	if l.Event(control.Event{Instance: ids[0], Kind: "bored"}) == nil {
		t.Error("an event of no kind is sent")
	}
}
