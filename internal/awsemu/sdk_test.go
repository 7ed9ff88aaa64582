package awsemu

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	testclock "k8s.io/utils/clock/testing"
)

// start is the time at which every test begins.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A lab is an emulator behind a real server, with clients of the SDK.
type lab struct {
	*Emulator
	t       *testing.T
	clock   *testclock.FakeClock
	url     string
	http    *http.Client
	ec2     *ec2.Client
	iam     *iam.Client
	sts     *sts.Client
	ssm     *ssm.Client
	sqs     *sqs.Client
	pricing *pricing.Client
	eks     *eks.Client
}

// newLab starts an emulator and a server. change may change its configuration.
func newLab(t *testing.T, change ...func(*Config)) *lab {
	t.Helper()
	l := newEmulator(t, change...)
	server := httptest.NewServer(l.Emulator)
	t.Cleanup(server.Close)
	l.url, l.http = server.URL, server.Client()
	l.connect()
	return l
}

// inBubble runs a test whose calls wait for the clock, in a testing/synctest bubble. Clients and server are connected by
// pipes, because goroutines that wait for a socket are not idle for synctest.
func inBubble(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newEmulator(t)
		pipes := make(pipes)
		server := &http.Server{Handler: l.Emulator} //nolint:gosec // a test's, it has no slow clients
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(pipes) }()
		transport := &http.Transport{DialContext: pipes.dial}
		l.url, l.http = "http://emulator.test", &http.Client{Transport: transport}
		l.connect()
		defer func() {
			transport.CloseIdleConnections()
			if err := server.Close(); err != nil {
				t.Error(err)
			}
			<-ended
		}()
		test(t, l)
	})
}

// pipes is a listener with connections in memory.
type pipes chan net.Conn

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close implements net.Listener.
func (p pipes) Close() error { close(p); return nil }

// Addr implements net.Listener.
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "emulator.test"} }

// newEmulator returns a lab with an emulator and no server.
func newEmulator(t *testing.T, change ...func(*Config)) *lab {
	t.Helper()
	l := &lab{t: t, clock: testclock.NewFakeClock(start)}
	cfg := Config{
		Clock: l.clock, Seed: 1,
		Cluster: Cluster{Name: "demo", Endpoint: "https://127.0.0.1:6443", CA: base64.StdEncoding.EncodeToString([]byte("pem"))},
	}
	for _, c := range change {
		c(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l.Emulator = e
	return l
}

// connect creates the clients.
func (l *lab) connect() {
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: &l.url, HTTPClient: l.http,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
		Retryer:     brokenConnectionsOnly,
	}
	l.ec2, l.iam, l.sts = ec2.NewFromConfig(conf), iam.NewFromConfig(conf), sts.NewFromConfig(conf)
	l.ssm, l.sqs, l.pricing, l.eks = ssm.NewFromConfig(conf), sqs.NewFromConfig(conf), pricing.NewFromConfig(conf), eks.NewFromConfig(conf)
}

// brokenConnectionsOnly returns a retryer that repeats calls with broken connections at once (see pace). It does not repeat calls
// after errors of the emulator.
func brokenConnectionsOnly() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableConnectionError{}}
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// must returns a function that returns the value and stops the test on an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantCode checks the code of an API error.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("error is %v, want code %s", err, code)
	}
}

// bg returns a context without a deadline.
func bg() context.Context { return context.Background() }

// privateSubnet returns the private subnet of a zone, which has the discovery tag.
func (l *lab) privateSubnet(zone string) string {
	l.t.Helper()
	out := must[*ec2.DescribeSubnetsOutput](l.t)(l.ec2.DescribeSubnets(bg(), &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{
		{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{"demo"}},
		{Name: aws.String("availability-zone"), Values: []string{zone}},
	}}))
	if len(out.Subnets) != 1 {
		l.t.Fatalf("%d discovery subnets in %s, want 1", len(out.Subnets), zone)
	}
	return *out.Subnets[0].SubnetId
}

// nodeGroup returns the security group with the discovery tag.
func (l *lab) nodeGroup() string {
	l.t.Helper()
	out := must[*ec2.DescribeSecurityGroupsOutput](l.t)(l.ec2.DescribeSecurityGroups(bg(), &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: aws.String("tag-key"), Values: []string{"karpenter.sh/discovery"}},
	}}))
	if len(out.SecurityGroups) != 1 {
		l.t.Fatalf("%d discovery groups, want 1", len(out.SecurityGroups))
	}
	return *out.SecurityGroups[0].GroupId
}

// image returns the recommended AL2023 image of an architecture.
func (l *lab) image(arch string) string {
	l.t.Helper()
	out := must[*ssm.GetParameterOutput](l.t)(l.ssm.GetParameter(bg(), &ssm.GetParameterInput{
		Name: aws.String("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/" + arch + "/standard/recommended/image_id"),
	}))
	return *out.Parameter.Value
}

// profile creates an instance profile with a role.
func (l *lab) profile(name string) {
	l.t.Helper()
	must[*iam.CreateInstanceProfileOutput](l.t)(l.iam.CreateInstanceProfile(bg(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name}))
	must[*iam.AddRoleToInstanceProfileOutput](l.t)(l.iam.AddRoleToInstanceProfile(bg(), &iam.AddRoleToInstanceProfileInput{
		InstanceProfileName: &name, RoleName: aws.String("KarpenterNodeRole-demo"),
	}))
}

// template creates a launch template like that of a node autoscaler.
func (l *lab) template(name, userData string) *ec2types.LaunchTemplate {
	l.t.Helper()
	out := must[*ec2.CreateLaunchTemplateOutput](l.t)(l.ec2.CreateLaunchTemplate(bg(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId: aws.String(l.image("x86_64")), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(userData))),
			NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{
				DeviceIndex: aws.Int32(0), Groups: []string{l.nodeGroup()},
			}},
			BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMappingRequest{{
				DeviceName: aws.String("/dev/xvda"),
				Ebs:        &ec2types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(30), VolumeType: ec2types.VolumeTypeGp3, Encrypted: aws.Bool(true)},
			}},
			MetadataOptions: &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: ec2types.LaunchTemplateHttpTokensStateRequired},
		},
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeLaunchTemplate,
			Tags:         []ec2types.Tag{{Key: aws.String("eks:eks-cluster-name"), Value: aws.String("demo")}},
		}},
	}))
	return out.LaunchTemplate
}

// A choice is one override of a fleet.
type choice struct {
	typ, zone string
	priority  float64
}

// fleet returns a request for an instant fleet of n instances.
func (l *lab) fleet(template string, capacity ec2types.DefaultTargetCapacityType, n int32, choices ...choice) *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		Type: ec2types.FleetTypeInstant,
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: &n, DefaultTargetCapacityType: capacity,
		},
		SpotOptions:     &ec2types.SpotOptionsRequest{AllocationStrategy: ec2types.SpotAllocationStrategyPriceCapacityOptimized},
		OnDemandOptions: &ec2types.OnDemandOptionsRequest{AllocationStrategy: ec2types.FleetOnDemandAllocationStrategyLowestPrice},
		TagSpecifications: []ec2types.TagSpecification{{
			ResourceType: ec2types.ResourceTypeInstance,
			Tags:         []ec2types.Tag{{Key: aws.String("karpenter.sh/nodepool"), Value: aws.String("default")}},
		}},
	}
	config := ec2types.FleetLaunchTemplateConfigRequest{
		LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{
			LaunchTemplateName: &template, Version: aws.String("$Latest"),
		},
	}
	for _, c := range choices {
		override := ec2types.FleetLaunchTemplateOverridesRequest{
			InstanceType: ec2types.InstanceType(c.typ), AvailabilityZone: aws.String(c.zone), SubnetId: aws.String(l.privateSubnet(c.zone)),
		}
		if c.priority != 0 {
			override.Priority = &c.priority
		}
		config.Overrides = append(config.Overrides, override)
	}
	in.LaunchTemplateConfigs = []ec2types.FleetLaunchTemplateConfigRequest{config}
	return in
}

// launch creates a fleet that must launch all its instances, and returns their ids.
func (l *lab) launch(in *ec2.CreateFleetInput) []string {
	l.t.Helper()
	out := must[*ec2.CreateFleetOutput](l.t)(l.ec2.CreateFleet(bg(), in))
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	if len(ids) != int(*in.TargetCapacitySpecification.TotalTargetCapacity) {
		l.t.Fatalf("launched %d of %d: %+v", len(ids), *in.TargetCapacitySpecification.TotalTargetCapacity, out.Errors)
	}
	return ids
}
