package launch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
)

func templateClass() *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{}
	c.Name = "default"
	c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	c.Status.SecurityGroups = []awsv1.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}}
	c.Status.InstanceProfile = "profile"
	return c
}

func makeTemplate(t *testing.T, class *awsv1.EC2NodeClass, change func(*templateSpec)) Template {
	t.Helper()
	b := templateSpec{
		class: class, imageID: "ami-1", userData: "hello", tags: map[string]string{"a": "1"}, capacityType: "spot",
		tenancy: "default", region: "us-east-1", reservations: true,
	}
	if change != nil {
		change(&b)
	}
	got, err := b.template()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTemplate(t *testing.T) {
	class := templateClass()
	class.Spec.BlockDeviceMappings = []*awsv1.BlockDeviceMapping{
		{DeviceName: ptr.To("/dev/xvda"), EBS: &awsv1.BlockDevice{
			VolumeSize: ptr.To(resource.MustParse("20500Mi")), IOPS: ptr.To[int64](0), VolumeType: ptr.To("gp3")}},
		{DeviceName: ptr.To("/dev/xvdb")}, nil, // neither may cause a panic
	}
	got := makeTemplate(t, class, nil).Data
	if *got.UserData != "aGVsbG8=" || *got.IamInstanceProfile.Name != "profile" || *got.ImageId != "ami-1" {
		t.Errorf("template is %+v", got)
	}
	disk := got.BlockDeviceMappings[0].Ebs
	if *disk.VolumeSize != 21 || disk.Iops != nil || len(got.BlockDeviceMappings) != 2 {
		t.Errorf("disks are %+v", got.BlockDeviceMappings)
	}
	m := got.MetadataOptions
	if m.HttpTokens != "required" || *m.HttpPutResponseHopLimit != 1 || m.InstanceMetadataTags != "disabled" || m.HttpProtocolIpv6 != "disabled" {
		t.Errorf("metadata options are %+v", m)
	}
	if n := got.NetworkInterfaces; len(n) != 1 || *n[0].DeviceIndex != 0 || !slices.Equal(n[0].Groups, []string{"sg-1", "sg-2"}) {
		t.Errorf("interfaces are %+v", n)
	}
	if got.CapacityReservationSpecification.CapacityReservationPreference != "none" || got.Placement.Tenancy != "default" {
		t.Errorf("reservations %+v, placement %+v", got.CapacityReservationSpecification, got.Placement)
	}
	if len(got.TagSpecifications) != 2 || got.TagSpecifications[1].ResourceType != "spot-instances-request" {
		t.Errorf("tags are %+v", got.TagSpecifications)
	}
	iso := makeTemplate(t, class, func(b *templateSpec) { b.region, b.reservations, b.capacityType = "us-iso-east-1", false, "on-demand" }).Data
	if iso.MetadataOptions.HttpProtocolIpv6 != "" || iso.CapacityReservationSpecification != nil || len(iso.TagSpecifications) != 1 {
		t.Errorf("in an isolated region, on demand: %+v", iso)
	}
}

func TestInterfaces(t *testing.T) {
	class := templateClass()
	class.Spec.AssociatePublicIPAddress, class.Spec.IPPrefixCount = ptr.To(true), ptr.To[int32](2)
	class.Spec.ConnectionTracking = &awsv1.ConnectionTracking{UDPTimeout: ptr.To[int32](30)}
	plain := makeTemplate(t, class, nil).Data.NetworkInterfaces[0]
	if !*plain.AssociatePublicIpAddress || *plain.Ipv4PrefixCount != 2 || *plain.ConnectionTrackingSpecification.UdpTimeout != 30 {
		t.Errorf("one interface: %+v", plain)
	}
	v6 := makeTemplate(t, class, func(b *templateSpec) { b.ipv6 = true }).Data.NetworkInterfaces[0]
	if v6.Ipv4PrefixCount != nil || *v6.Ipv6PrefixCount != 2 || !*v6.PrimaryIpv6 || *v6.Ipv6AddressCount != 1 {
		t.Errorf("IPv6: %+v", v6)
	}
	efas := makeTemplate(t, class, func(b *templateSpec) { b.efas = 2 }).Data.NetworkInterfaces
	if len(efas) != 2 || *efas[0].DeviceIndex != 0 || *efas[1].DeviceIndex != 1 || *efas[1].NetworkCardIndex != 1 || *efas[1].InterfaceType != "efa" {
		t.Errorf("EFAs: %+v", efas)
	}
	for n, efa := range makeTemplate(t, class, func(b *templateSpec) { b.ipv6, b.efas = true, 2 }).Data.NetworkInterfaces {
		if !aws.ToBool(efa.PrimaryIpv6) || aws.ToInt32(efa.Ipv6AddressCount) != 1 || aws.ToInt32(efa.Ipv6PrefixCount) != 2 {
			t.Errorf("EFA %d of an IPv6 cluster: %+v", n, efa)
		}
	}
	class.Spec.NetworkInterfaces = []*awsv1.NetworkInterface{
		{InterfaceType: awsv1.InterfaceTypeInterface}, {NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: awsv1.InterfaceTypeEFAOnly},
	}
	if only := makeTemplate(t, class, func(b *templateSpec) { b.ipv6 = true }).Data.NetworkInterfaces[1]; only.PrimaryIpv6 != nil || only.Ipv6AddressCount != nil {
		t.Errorf("EFA without addresses in an IPv6 cluster: %+v", only)
	}
	given := makeTemplate(t, class, func(b *templateSpec) { b.efas = 2 }).Data.NetworkInterfaces
	if len(given) != 2 || given[0].AssociatePublicIpAddress == nil || given[1].AssociatePublicIpAddress != nil || given[1].Ipv4PrefixCount != nil {
		t.Errorf("the class's own: %+v", given)
	}
}

func TestEnclaves(t *testing.T) {
	for name, tt := range map[string]struct {
		options *awsv1.EnclaveOptions
		want    bool
	}{
		"without options": {nil, false}, "off": {&awsv1.EnclaveOptions{}, false}, "on": {&awsv1.EnclaveOptions{Enabled: true}, true},
	} {
		class := templateClass()
		class.Spec.EnclaveOptions = tt.options
		got := makeTemplate(t, class, nil).Data.EnclaveOptions
		if (got != nil && *got.Enabled) != tt.want || got != nil && !tt.want {
			t.Errorf("%s: enclave options are %+v", name, got)
		}
	}
}

func TestTemplateName(t *testing.T) {
	base := makeTemplate(t, templateClass(), nil).Name
	if again := makeTemplate(t, templateClass(), nil).Name; again != base {
		t.Error("the same template has another name")
	}
	for what, change := range map[string]func(*templateSpec){
		"image": func(b *templateSpec) { b.imageID = "ami-2" }, "user data": func(b *templateSpec) { b.userData = "x" },
		"tags": func(b *templateSpec) { b.tags = nil }, "tenancy": func(b *templateSpec) { b.tenancy = "dedicated" },
		"capacity type": func(b *templateSpec) { b.capacityType = "on-demand" }, "enclave": func(b *templateSpec) {
			b.class.Spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true}
		},
	} {
		if makeTemplate(t, templateClass(), change).Name == base {
			t.Errorf("another %s, the same name", what)
		}
	}
}

// templates is a fake of EC2 with launch templates.
type templates struct {
	mu    sync.Mutex // guards all below
	names map[string]bool
	calls []string
	hang  chan struct{} // if not nil, a call for "slow" waits for it
}

func (d *templates) DescribeLaunchTemplates(
	ctx context.Context, in *ec2.DescribeLaunchTemplatesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeLaunchTemplatesOutput, error) {
	if d.hang != nil && slices.Contains(in.LaunchTemplateNames, "slow") {
		select {
		case <-d.hang:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := &ec2.DescribeLaunchTemplatesOutput{}
	if len(in.LaunchTemplateNames) == 0 {
		for n := range d.names {
			out.LaunchTemplates = append(out.LaunchTemplates, ec2types.LaunchTemplate{LaunchTemplateName: aws.String(n)})
		}
		return out, nil
	}
	d.calls = append(d.calls, "describe")
	if !d.names[in.LaunchTemplateNames[0]] {
		return nil, &smithy.GenericAPIError{Code: "InvalidLaunchTemplateName.NotFoundException"}
	}
	out.LaunchTemplates = []ec2types.LaunchTemplate{{}}
	return out, nil
}

func (d *templates) CreateLaunchTemplate(
	_ context.Context, in *ec2.CreateLaunchTemplateInput, _ ...func(*ec2.Options),
) (*ec2.CreateLaunchTemplateOutput, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, "create")
	d.names[*in.LaunchTemplateName] = true
	return &ec2.CreateLaunchTemplateOutput{}, nil
}

func (d *templates) DeleteLaunchTemplate(
	_ context.Context, in *ec2.DeleteLaunchTemplateInput, _ ...func(*ec2.Options),
) (*ec2.DeleteLaunchTemplateOutput, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, *in.LaunchTemplateName)
	return &ec2.DeleteLaunchTemplateOutput{}, nil
}

func TestTemplateStore(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	d := &templates{names: map[string]bool{"left": true}}
	s := NewTemplateStore(d, "c", clock)
	want := func(what string, calls ...string) {
		t.Helper()
		if !slices.Equal(d.calls, calls) {
			t.Errorf("%s: calls are %v, want %v", what, d.calls, calls)
		}
		d.calls = nil
	}
	ensure := func() {
		t.Helper()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := s.Ensure(t.Context(), []Template{{Name: "one"}}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	ensure()
	want("five at once", "describe", "create")
	ensure()
	want("again")
	s.Invalidate("one")
	ensure()
	want("invalidated", "describe")

	if err := s.Sweep(t.Context()); err != nil || !d.names["left"] {
		t.Errorf("what was just seen first is swept: %v", err)
	}
	clock.SetTime(time.Unix(1800, 0))
	ensure()
	clock.SetTime(time.Unix(3601, 0))
	if err := s.Sweep(t.Context()); err != nil || d.names["left"] || !d.names["one"] {
		t.Errorf("after an hour there are %v, %v", d.names, err)
	}
	if err := s.RemoveOf(t.Context(), "default"); err != nil || len(d.names) != 0 {
		t.Errorf("after removal there are %v, %v", d.names, err)
	}
	d.calls = nil
	ensure()
	want("after removal", "describe", "create")
}

func TestTemplateStoreDoesNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &templates{names: map[string]bool{}, hang: make(chan struct{})}
		s := NewTemplateStore(d, "c", clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
		done := make(chan error, 1)
		go func() { done <- s.Ensure(t.Context(), []Template{{Name: "slow"}}) }()
		synctest.Wait() // the creation of the template hangs
		if err := s.Ensure(t.Context(), []Template{{Name: "quick"}}); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Ensure(ctx, []Template{{Name: "slow"}}); err == nil {
			t.Error("Ensure of a template that is not created yet succeeds with a cancelled context")
		}
		close(d.hang)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
