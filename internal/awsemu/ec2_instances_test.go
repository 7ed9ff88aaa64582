package awsemu

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// list returns the ids of the instances that match the filters, from all pages.
func (l *lab) list(filters ...ec2types.Filter) []string {
	l.t.Helper()
	pages := ec2.NewDescribeInstancesPaginator(l.ec2, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(5)})
	var ids []string
	for pages.HasMorePages() {
		for _, r := range must[*ec2.DescribeInstancesOutput](l.t)(pages.NextPage(bg())).Reservations {
			for _, i := range r.Instances {
				ids = append(ids, *i.InstanceId)
			}
		}
	}
	return ids
}

func TestDescribeInstances(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	spots := l.launch(l.fleet("lt-x", spot, 12, choice{typ: "m7i.large", zone: "us-east-1a"}))
	others := l.launch(l.fleet("lt-x", onDemand, 1, choice{typ: "c7i.xlarge", zone: "us-east-1b"}))
	l.clock.Step(time.Second)
	must[*ec2.TerminateInstancesOutput](t)(l.ec2.TerminateInstances(bg(), &ec2.TerminateInstancesInput{InstanceIds: spots[:2]}))
	for _, tt := range []struct {
		name    string
		filters []ec2types.Filter
		want    []string
	}{
		{"all pages", nil, slices.Concat(spots, others)},
		{"running", []ec2types.Filter{filter("instance-state-name", "pending", "running")}, slices.Concat(spots[2:], others)},
		{"shutting down", []ec2types.Filter{filter("instance-state-name", "shutting-down")}, spots[:2]},
		{"by tag", []ec2types.Filter{filter("tag:karpenter.sh/nodepool", "def*"), filter("tag-key", "karpenter.sh/nodepool")}, slices.Concat(spots, others)},
		{"by type and zone", []ec2types.Filter{filter("instance-type", "c7i.*"), filter("availability-zone", "us-east-1?")}, others},
		{"spot only", []ec2types.Filter{filter("instance-lifecycle", "spot")}, spots},
		{"nothing", []ec2types.Filter{filter("tag:no", "no")}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := l.list(tt.filters...); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	// If the filter excludes an instance with a known id, the result is empty and no error.
	out := must[*ec2.DescribeInstancesOutput](t)(l.ec2.DescribeInstances(bg(), &ec2.DescribeInstancesInput{
		InstanceIds: others, Filters: []ec2types.Filter{filter("instance-state-name", "terminated")},
	}))
	if len(out.Reservations) != 0 {
		t.Errorf("reservations are %+v, want none", out.Reservations)
	}
	for code, in := range map[string]*ec2.DescribeInstancesInput{
		"InvalidInstanceID.NotFound":  {InstanceIds: []string{others[0], "i-0123456789abcdef0"}},
		"InvalidInstanceID.Malformed": {InstanceIds: []string{"x-1"}},
		"InvalidParameterCombination": {InstanceIds: others, MaxResults: aws.Int32(5)},
		"InvalidParameterValue":       {MaxResults: aws.Int32(4)},
		"InvalidPaginationToken":      {NextToken: aws.String("bogus")},
	} {
		_, err := l.ec2.DescribeInstances(bg(), in)
		wantCode(t, err, code)
	}
}

func TestTerminateUnknownLeavesAll(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	ids := l.launch(l.fleet("lt-x", spot, 1, choice{typ: "m7i.large", zone: "us-east-1a"}))
	_, err := l.ec2.TerminateInstances(bg(), &ec2.TerminateInstancesInput{InstanceIds: []string{ids[0], "i-0123456789abcdef0"}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	if s := l.state(ids[0]); s != "pending" {
		t.Errorf("the known instance is %s, want still pending", s)
	}
}

func TestTerminationFreesEverything(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	l.world.SetQuota("spot", 2)
	in := l.fleet("lt-x", spot, 1, choice{typ: "m7i.large", zone: "us-east-1a"})
	ids := l.launch(in)
	free := func() int {
		for _, s := range l.world.Subnets() {
			if s.Zone == "us-east-1a" && !s.Public {
				return s.Free
			}
		}
		return -1
	}
	if n := free(); n != 4090 {
		t.Errorf("%d free addresses with one instance, want 4090", n)
	}
	must[*ec2.TerminateInstancesOutput](t)(l.ec2.TerminateInstances(bg(), &ec2.TerminateInstancesInput{InstanceIds: ids}))
	in.ClientToken = nil
	if out := must[*ec2.CreateFleetOutput](t)(l.ec2.CreateFleet(bg(), in)); len(out.Instances) != 0 {
		t.Error("a machine that shuts down gave its quota back")
	}
	l.clock.Step(time.Minute)
	if n := free(); n != 4091 {
		t.Errorf("%d free addresses after the end, want 4091", n)
	}
	in.ClientToken = nil
	if again := l.launch(in); again[0] == ids[0] {
		t.Error("an id was used twice")
	}
	if a, b := l.Instances()[0].Address, l.Instances()[1].Address; a == b {
		t.Errorf("the address %s is used again at once", a)
	}
}

func TestInstancesAreHiddenAtFirst(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Timing.Hidden = 5 * time.Second })
	l.template("lt-x", "hello")
	if n := len(l.world.Templates()); n != 0 {
		t.Errorf("%d templates are visible at once, want none", n)
	}
	in := l.fleet("lt-x", spot, 1, choice{typ: "m7i.large", zone: "us-east-1a"})
	_, err := l.ec2.CreateFleet(bg(), in)
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
	l.clock.Step(5 * time.Second)
	ids := l.launch(in)
	_, err = l.ec2.DescribeInstances(bg(), &ec2.DescribeInstancesInput{InstanceIds: ids})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	if got := l.list(); len(got) != 0 {
		t.Errorf("list shows %v at once", got)
	}
	l.clock.Step(5 * time.Second)
	if got := l.list(); !slices.Equal(got, ids) {
		t.Errorf("list shows %v later, want %v", got, ids)
	}
}

func TestTags(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	ids := l.launch(l.fleet("lt-x", spot, 2, choice{typ: "m7i.large", zone: "us-east-1a"}))
	must[*ec2.CreateTagsOutput](t)(l.ec2.CreateTags(bg(), &ec2.CreateTagsInput{
		Resources: ids, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: aws.String("n")}, {Key: aws.String("a"), Value: aws.String("1")}},
	}))
	if got := l.list(filter("tag:Name", "n")); !slices.Equal(got, ids) {
		t.Errorf("tagged are %v, want %v", got, ids)
	}
	must[*ec2.DeleteTagsOutput](t)(l.ec2.DeleteTags(bg(), &ec2.DeleteTagsInput{
		Resources: ids[:1], Tags: []ec2types.Tag{{Key: aws.String("Name")}, {Key: aws.String("a"), Value: aws.String("2")}},
	}))
	if got := l.list(filter("tag:Name", "n")); !slices.Equal(got, ids[1:]) {
		t.Errorf("still tagged are %v, want %v", got, ids[1:])
	}
	if got := l.list(filter("tag:a", "1")); !slices.Equal(got, ids) {
		t.Errorf("a tag with another value was deleted: left are %v", got)
	}
	for code, in := range map[string]*ec2.CreateTagsInput{
		"InvalidInstanceID.NotFound": {Resources: []string{"i-0123456789abcdef0"}, Tags: []ec2types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}},
		"InvalidParameterValue":      {Resources: ids, Tags: []ec2types.Tag{{Key: aws.String("aws:k"), Value: aws.String("v")}}},
		"InvalidID":                  {Resources: []string{"what"}, Tags: []ec2types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}},
	} {
		_, err := l.ec2.CreateTags(bg(), in)
		wantCode(t, err, code)
	}
}

func TestRunInstances(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	run := func(change func(*ec2.RunInstancesInput)) (*ec2.RunInstancesOutput, error) {
		in := &ec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(2), InstanceType: "m7i.large", SubnetId: aws.String(l.privateSubnet("us-east-1c")),
			LaunchTemplate: &ec2types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("lt-x"), Version: aws.String("$Latest")},
		}
		change(in)
		return l.ec2.RunInstances(bg(), in)
	}
	out := must[*ec2.RunInstancesOutput](t)(run(func(*ec2.RunInstancesInput) {}))
	if len(out.Instances) != 2 || *out.Instances[0].Placement.AvailabilityZone != "us-east-1c" || out.Instances[0].InstanceLifecycle != "" {
		t.Errorf("instances are %+v", out.Instances)
	}
	for code, change := range map[string]func(*ec2.RunInstancesInput){
		"DryRunOperation":       func(in *ec2.RunInstancesInput) { in.DryRun = aws.Bool(true) },
		"InvalidAMIID.NotFound": func(in *ec2.RunInstancesInput) { in.ImageId = aws.String("ami-1") },
		"InvalidParameterValue": func(in *ec2.RunInstancesInput) {
			in.DryRun = aws.Bool(true)
			in.IamInstanceProfile = &ec2types.IamInstanceProfileSpecification{Name: aws.String("none")}
		},
		"InvalidLaunchTemplateName.NotFoundException": func(in *ec2.RunInstancesInput) {
			in.LaunchTemplate.LaunchTemplateName = aws.String("none")
		},
	} {
		_, err := run(change)
		wantCode(t, err, code)
	}
}

func TestDescribeInstanceStatus(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	ids := l.launch(l.fleet("lt-x", spot, 1, choice{typ: "m7i.large", zone: "us-east-1a"}))
	ask := func(filters ...ec2types.Filter) []ec2types.InstanceStatus {
		return must[*ec2.DescribeInstanceStatusOutput](t)(l.ec2.DescribeInstanceStatus(bg(), &ec2.DescribeInstanceStatusInput{Filters: filters})).InstanceStatuses
	}
	if n := len(ask()); n != 0 {
		t.Errorf("%d statuses while pending, want none", n)
	}
	l.clock.Step(time.Second)
	all := ask()
	if len(all) != 1 || *all[0].InstanceId != ids[0] || all[0].InstanceStatus.Status != "ok" || all[0].SystemStatus.Details[0].Status != "passed" {
		t.Errorf("statuses are %+v", all)
	}
	if n := len(ask(filter("instance-status.status", "impaired"))); n != 0 {
		t.Errorf("%d impaired, want none", n)
	}
}

func TestNothingReserved(t *testing.T) {
	l := newLab(t)
	if out := must[*ec2.DescribeCapacityReservationsOutput](t)(l.ec2.DescribeCapacityReservations(bg(), &ec2.DescribeCapacityReservationsInput{})); len(out.CapacityReservations) != 0 {
		t.Errorf("reservations are %+v", out.CapacityReservations)
	}
	_, err := l.ec2.DescribeCapacityReservations(bg(), &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{"cr-1"}})
	wantCode(t, err, "InvalidCapacityReservationId.NotFound")
	if out := must[*ec2.DescribePlacementGroupsOutput](t)(l.ec2.DescribePlacementGroups(bg(), &ec2.DescribePlacementGroupsInput{})); len(out.PlacementGroups) != 0 {
		t.Errorf("placement groups are %+v", out.PlacementGroups)
	}
	_, err = l.ec2.DescribePlacementGroups(bg(), &ec2.DescribePlacementGroupsInput{GroupNames: []string{"pg"}})
	wantCode(t, err, "InvalidPlacementGroup.Unknown")
	_, err = l.ec2.DescribeVolumes(bg(), &ec2.DescribeVolumesInput{})
	wantCode(t, err, "InvalidAction")
}
