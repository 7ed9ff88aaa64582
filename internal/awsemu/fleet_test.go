package awsemu

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

const (
	spot     = ec2types.DefaultTargetCapacityTypeSpot
	onDemand = ec2types.DefaultTargetCapacityTypeOnDemand
)

func TestFleetLaunches(t *testing.T) {
	l := newLab(t)
	l.profile("nodes")
	lt := l.template("karpenter.k8s.aws/1", "hello")
	in := l.fleet("karpenter.k8s.aws/1", onDemand, 2, choice{typ: "m7i.large", zone: "us-east-1b"}, choice{typ: "c7i.large", zone: "us-east-1a"})
	out := must[*ec2.CreateFleetOutput](t)(l.ec2.CreateFleet(bg(), in))
	if len(out.Errors) != 0 || len(out.Instances) != 1 || len(out.Instances[0].InstanceIds) != 2 {
		t.Fatalf("fleet is %+v, want two instances of one pool", out)
	}
	got := out.Instances[0]
	if got.InstanceType != "c7i.large" || got.Lifecycle != ec2types.InstanceLifecycleOnDemand || *got.LaunchTemplateAndOverrides.Overrides.AvailabilityZone != "us-east-1a" {
		t.Errorf("took %s %s in %s, want the cheaper c7i.large on-demand in us-east-1a", got.InstanceType, got.Lifecycle,
			*got.LaunchTemplateAndOverrides.Overrides.AvailabilityZone)
	}
	if *got.LaunchTemplateAndOverrides.LaunchTemplateSpecification.LaunchTemplateId != *lt.LaunchTemplateId {
		t.Error("the launch template is not echoed")
	}

	described := must[*ec2.DescribeInstancesOutput](t)(l.ec2.DescribeInstances(bg(), &ec2.DescribeInstancesInput{InstanceIds: got.InstanceIds}))
	if len(described.Reservations) != 1 || len(described.Reservations[0].Instances) != 2 {
		t.Fatalf("described %+v, want one reservation of two", described.Reservations)
	}
	i := described.Reservations[0].Instances[0]
	if i.State.Name != ec2types.InstanceStateNamePending {
		t.Errorf("state is %s, want pending", i.State.Name)
	}
	if *i.PrivateDnsName != "ip-10-0-0-4.ec2.internal" || *i.Placement.AvailabilityZoneId != "use1-az1" || !i.LaunchTime.Equal(start) {
		t.Errorf("instance is %s in %s since %s", *i.PrivateDnsName, *i.Placement.AvailabilityZoneId, i.LaunchTime)
	}
	tags := map[string]string{}
	for _, tag := range i.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if tags["karpenter.sh/nodepool"] != "default" || tags["aws:ec2launchtemplate:id"] != *lt.LaunchTemplateId || tags["aws:ec2:fleet-id"] != *out.FleetId {
		t.Errorf("tags are %v", tags)
	}
	if len(i.SecurityGroups) != 1 || *i.SecurityGroups[0].GroupId != l.nodeGroup() || *i.SecurityGroups[0].GroupName != "demo-node" {
		t.Errorf("security groups are %+v", i.SecurityGroups)
	}

	l.clock.Step(time.Second)
	if s := l.state(*i.InstanceId); s != "running" {
		t.Errorf("after a second the state is %s, want running", s)
	}
	ended := must[*ec2.TerminateInstancesOutput](t)(l.ec2.TerminateInstances(bg(), &ec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}}))
	change := ended.TerminatingInstances[0]
	if change.PreviousState.Name != "running" || change.CurrentState.Name != "shutting-down" || *change.CurrentState.Code != 32 {
		t.Errorf("termination went from %s to %s (%d)", change.PreviousState.Name, change.CurrentState.Name, *change.CurrentState.Code)
	}
	l.clock.Step(2 * time.Second)
	if s := l.state(*i.InstanceId); s != "terminated" {
		t.Errorf("two seconds later the state is %s, want terminated", s)
	}
	l.clock.Step(2 * time.Hour)
	_, err := l.ec2.DescribeInstances(bg(), &ec2.DescribeInstancesInput{InstanceIds: []string{*i.InstanceId}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
}

// state returns an instance's state.
func (l *lab) state(id string) string {
	l.t.Helper()
	out := must[*ec2.DescribeInstancesOutput](l.t)(l.ec2.DescribeInstances(bg(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}}))
	return string(out.Reservations[0].Instances[0].State.Name)
}

func TestFleetChoice(t *testing.T) {
	a, b, c := choice{typ: "m7i.large", zone: "us-east-1a", priority: 3}, choice{typ: "c7i.large", zone: "us-east-1a", priority: 2}, choice{typ: "r7i.large", zone: "us-east-1b", priority: 1}
	for _, tt := range []struct {
		name     string
		capacity ec2types.DefaultTargetCapacityType
		n        int32
		spot     ec2types.SpotAllocationStrategy
		onDemand ec2types.FleetOnDemandAllocationStrategy
		rules    []control.Capacity
		prices   []control.Price
		want     []string // type x count
		errors   []string // type: code
	}{
		{name: "on-demand takes the lowest price", capacity: onDemand, n: 3, want: []string{"c7i.large x3"}},
		{name: "on-demand by priority", capacity: onDemand, n: 1, onDemand: "prioritized", want: []string{"r7i.large x1"}},
		{
			name: "spot takes the lowest price if all have room", capacity: spot, n: 2,
			prices: []control.Price{{Pool: control.Pool{Type: "r7i.large", Zone: "us-east-1b"}, USD: 0.0001}},
			want:   []string{"r7i.large x2"},
		},
		{
			name: "no capacity falls over to the next", capacity: onDemand, n: 2,
			rules: []control.Capacity{{Pool: control.Pool{Type: "c7i.*"}}},
			want:  []string{"m7i.large x2"}, errors: []string{"c7i.large: InsufficientInstanceCapacity"},
		},
		{
			name: "some capacity is taken, the rest comes from the next", capacity: onDemand, n: 3,
			rules: []control.Capacity{{Pool: control.Pool{Type: "c7i.large"}, Limit: 1}},
			want:  []string{"c7i.large x1", "m7i.large x2"}, errors: []string{"c7i.large: InsufficientInstanceCapacity"},
		},
		{
			name: "price-capacity-optimized prefers a pool that holds all", capacity: spot, n: 3,
			rules:  []control.Capacity{{Pool: control.Pool{Type: "c7i.large"}, Limit: 1}},
			prices: []control.Price{{Pool: control.Pool{Type: "c7i.large", Zone: "*"}, USD: 0.001}, {Pool: control.Pool{Type: "m7i.large", Zone: "*"}, USD: 0.002}},
			want:   []string{"m7i.large x3"},
		},
		{
			name: "lowest-price does not", capacity: spot, n: 3, spot: "lowest-price",
			rules:  []control.Capacity{{Pool: control.Pool{Type: "c7i.large"}, Limit: 1}},
			prices: []control.Price{{Pool: control.Pool{Type: "c7i.large", Zone: "*"}, USD: 0.001}, {Pool: control.Pool{Type: "m7i.large", Zone: "*"}, USD: 0.002}},
			want:   []string{"c7i.large x1", "m7i.large x2"}, errors: []string{"c7i.large: InsufficientInstanceCapacity"},
		},
		{
			name: "nothing anywhere", capacity: spot, n: 1,
			rules:  []control.Capacity{{Code: "UnfulfillableCapacity"}},
			errors: []string{"c7i.large: UnfulfillableCapacity", "m7i.large: UnfulfillableCapacity", "r7i.large: UnfulfillableCapacity"},
		},
		{
			name: "a rule for spot leaves on-demand alone", capacity: onDemand, n: 1,
			rules: []control.Capacity{{Pool: control.Pool{Capacity: "spot"}}}, want: []string{"c7i.large x1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.template("lt-x", "hello")
			for _, r := range tt.rules {
				l.SetCapacity(r)
			}
			for _, p := range tt.prices {
				if err := l.SetPrice(p); err != nil {
					t.Fatal(err)
				}
			}
			in := l.fleet("lt-x", tt.capacity, tt.n, a, b, c)
			if tt.spot != "" {
				in.SpotOptions.AllocationStrategy = tt.spot
			}
			if tt.onDemand != "" {
				in.OnDemandOptions.AllocationStrategy = tt.onDemand
			}
			out := must[*ec2.CreateFleetOutput](t)(l.ec2.CreateFleet(bg(), in))
			var got, errs []string
			for _, i := range out.Instances {
				got = append(got, string(i.InstanceType)+" x"+string(rune('0'+len(i.InstanceIds))))
			}
			for _, e := range out.Errors {
				errs = append(errs, string(e.LaunchTemplateAndOverrides.Overrides.InstanceType)+": "+*e.ErrorCode)
			}
			slices.Sort(errs)
			if !slices.Equal(got, tt.want) || !slices.Equal(errs, tt.errors) {
				t.Errorf("launched %v with errors %v, want %v with %v", got, errs, tt.want, tt.errors)
			}
		})
	}
}

func TestFleetRefusals(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	good := choice{typ: "m7i.large", zone: "us-east-1a"}
	for _, tt := range []struct {
		name   string
		change func(*ec2.CreateFleetInput)
		code   string // error code of the call
		item   string // error code of an item
	}{
		{name: "template that does not exist", code: "InvalidLaunchTemplateName.NotFoundException", change: func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("nothing")
		}},
		{name: "version that does not exist", code: "InvalidLaunchTemplateId.VersionNotFound", change: func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.Version = aws.String("7")
		}},
		{name: "type maintain", code: "UnsupportedOperation", change: func(in *ec2.CreateFleetInput) { in.Type = ec2types.FleetTypeMaintain }},
		{name: "dry run", code: "DryRunOperation", change: func(in *ec2.CreateFleetInput) { in.DryRun = aws.Bool(true) }},
		{name: "reserved tag", code: "InvalidParameterValue", change: func(in *ec2.CreateFleetInput) {
			in.TagSpecifications[0].Tags[0].Key = aws.String("aws:mine")
		}},
		{name: "subnet that does not exist", item: "InvalidSubnetID.NotFound", change: func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].SubnetId = aws.String("subnet-1")
		}},
		{name: "image that does not exist", item: "InvalidAMIID.NotFound", change: func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].ImageId = aws.String("ami-1")
		}},
		{name: "image of another architecture", item: "InvalidParameterValue", change: func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].InstanceType = "m7g.large"
		}},
		{name: "type not sold in the zone", item: "Unsupported", change: func(in *ec2.CreateFleetInput) {
			o := &in.LaunchTemplateConfigs[0].Overrides[0]
			o.AvailabilityZone, o.SubnetId = aws.String("us-east-1e"), aws.String(l.privateSubnet("us-east-1e"))
		}},
		{name: "type that does not exist", item: "InvalidParameterValue", change: func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].InstanceType = "m99.large"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := l.fleet("lt-x", onDemand, 1, good)
			tt.change(in)
			out, err := l.ec2.CreateFleet(bg(), in)
			if tt.code != "" {
				wantCode(t, err, tt.code)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Instances) != 0 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.item {
				t.Errorf("fleet is %+v with errors %+v, want only %s", out.Instances, out.Errors, tt.item)
			}
		})
	}
	if n := len(l.Instances()); n != 0 {
		t.Errorf("refused fleets left %d instances", n)
	}
}

func TestFleetProfileMustExist(t *testing.T) {
	l := newLab(t)
	in := &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("with-profile"),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId:            aws.String(l.image("x86_64")),
			IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")},
		},
	}
	must[*ec2.CreateLaunchTemplateOutput](t)(l.ec2.CreateLaunchTemplate(bg(), in))
	fleet := l.fleet("with-profile", onDemand, 1, choice{typ: "m7i.large", zone: "us-east-1a"})
	out := must[*ec2.CreateFleetOutput](t)(l.ec2.CreateFleet(bg(), fleet))
	if len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InvalidParameterValue" {
		t.Fatalf("errors are %+v, want InvalidParameterValue", out.Errors)
	}
	l.profile("nodes")
	fleet.ClientToken = nil // the SDK kept the token of the first call, which would return the first response
	l.launch(fleet)
}

func TestFleetTokenLaunchesOnce(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	in := l.fleet("lt-x", spot, 1, choice{typ: "m7i.large", zone: "us-east-1a"})
	in.ClientToken = aws.String("token-1")
	first, second := l.launch(in), l.launch(in)
	if !slices.Equal(first, second) || len(l.Instances()) != 1 {
		t.Errorf("two calls with one token launched %v and %v", first, second)
	}
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(2)
	_, err := l.ec2.CreateFleet(bg(), in)
	wantCode(t, err, "IdempotentParameterMismatch")
}

func TestFleetQuota(t *testing.T) {
	l := newLab(t)
	l.template("lt-x", "hello")
	l.world.SetQuota("on-demand", 5)
	out := must[*ec2.CreateFleetOutput](t)(l.ec2.CreateFleet(bg(), l.fleet("lt-x", onDemand, 3, choice{typ: "m7i.large", zone: "us-east-1a"})))
	if len(out.Instances) != 1 || len(out.Instances[0].InstanceIds) != 2 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "VcpuLimitExceeded" {
		t.Errorf("fleet is %+v, errors %+v, want two instances and VcpuLimitExceeded", out.Instances, out.Errors)
	}
}

func TestSameSeedSameIDs(t *testing.T) {
	run := func() []string {
		l := newLab(t)
		l.template("lt-x", "hello")
		return l.launch(l.fleet("lt-x", spot, 3, choice{typ: "m7i.large", zone: "us-east-1a"}))
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Errorf("two runs gave %v and %v", a, b)
	}
}
