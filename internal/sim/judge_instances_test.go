package sim

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/world"
)

func classOfTest() *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{}
	c.Name = "default"
	c.Spec = awsv1.EC2NodeClassSpec{
		Tags: map[string]string{"team": "red"}, DetailedMonitoring: new(true), AssociatePublicIPAddress: new(false), IPPrefixCount: new(int32(1)),
		MetadataOptions: &awsv1.MetadataOptions{
			HTTPEndpoint: new("enabled"), HTTPProtocolIPv6: new("disabled"), HTTPPutResponseHopLimit: new(int64(2)), HTTPTokens: new("required"),
		},
		BlockDeviceMappings: []*awsv1.BlockDeviceMapping{{DeviceName: new("/dev/xvda"), EBS: &awsv1.BlockDevice{
			VolumeSize: new(resource.MustParse("22G")), VolumeType: new("gp3"), Encrypted: new(true), IOPS: new(int64(4000)),
		}}},
	}
	c.Status = awsv1.EC2NodeClassStatus{
		AMIs: []awsv1.AMI{{ID: "ami-1"}, {ID: "ami-2"}}, Subnets: []awsv1.Subnet{{ID: "subnet-1"}},
		SecurityGroups: []awsv1.SecurityGroup{{ID: "sg-2"}, {ID: "sg-1"}}, InstanceProfile: "profile",
	}
	return c
}

func instanceOfTest() world.Instance {
	return world.Instance{
		ID: "i-1", Image: world.Image{ID: "ami-2"}, Subnet: "subnet-1", Groups: []string{"sg-1", "sg-2"},
		Tags: map[string]string{"team": "red", awsv1.TagNodeClass: "default"},
		Data: world.TemplateData{
			Profile: "arn:aws:iam::1:instance-profile/profile", Monitoring: true,
			Metadata:     world.MetadataOptions{Endpoint: "enabled", IPv6: "disabled", Tokens: "required", HopLimit: 2, Tags: "disabled"},
			Tags:         world.Tags{"network-interface": {"team": "red"}},
			NICs:         []world.NIC{{PublicIP: new(false), IPv4Prefixes: 1}},
			BlockDevices: []world.BlockDevice{{Device: "/dev/xvda", VolumeType: "gp3", SizeGiB: 21, IOPS: 4000, Encrypted: true}},
		},
	}
}

// An instance must be as its EC2NodeClass says.
func TestInstanceDiffersFromClass(t *testing.T) {
	for _, tt := range []struct {
		change func(*world.Instance)
		want   string // a part of the difference, empty for none
	}{
		{func(*world.Instance) {}, ""},
		{func(i *world.Instance) { i.Image.ID = "ami-3" }, "image is ami-3"},
		{func(i *world.Instance) { i.Subnet = "subnet-2" }, "subnet is subnet-2"},
		{func(i *world.Instance) { i.Groups = []string{"sg-1"} }, "security groups"},
		{func(i *world.Instance) { i.Data.Profile = "other" }, "instance profile is other"},
		{func(i *world.Instance) { i.Tags["team"] = "blue" }, "its tag team"},
		{func(i *world.Instance) { i.Data.Tags = nil }, "network interfaces"},
		{func(i *world.Instance) { i.Data.Monitoring = false }, "monitoring"},
		{func(i *world.Instance) { i.Data.Metadata.Tokens = "optional" }, "metadata options"},
		{func(i *world.Instance) { i.Data.NICs[0].PublicIP = nil }, "associatePublicIPAddress"},
		{func(i *world.Instance) { i.Data.NICs[0].IPv4Prefixes = 0 }, "0 prefixes"},
		{func(i *world.Instance) { i.Data.BlockDevices = nil }, "no disk /dev/xvda"},
		{func(i *world.Instance) { i.Data.BlockDevices[0].SizeGiB = 20 }, "SizeGiB:20"},
		{func(i *world.Instance) { i.Data.BlockDevices[0].Encrypted = false }, "Encrypted:false"},
	} {
		i := instanceOfTest()
		tt.change(&i)
		if got := differs(i, classOfTest()); (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("difference is %q, want %q", got, tt.want)
		}
	}
}

// Versions of an EC2NodeClass are kept for a while after they were replaced, because a launch may have begun with them.
func TestVersionsOfClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newInstanceRules(nil)
		first, second, third := classOfTest(), classOfTest(), classOfTest()
		r.written(nil, first)
		<-time.After(time.Minute) // virtual time
		r.written(first, second)
		<-time.After(launchedBefore) // virtual time
		r.written(second, third)
		<-time.After(time.Minute) // virtual time
		r.written(third, nil)
		var ages []time.Duration
		for _, v := range r.versions["default"] {
			ages = append(ages, time.Since(v.until))
		}
		if want := []time.Duration{time.Minute, 0}; !slices.Equal(ages, want) {
			t.Errorf("versions were replaced %v ago, want %v", ages, want)
		}
	})
}
