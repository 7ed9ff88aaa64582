package awsemu

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// In an IPv6 cluster, subnets have IPv6 ranges. Instances that request an IPv6 address get one in the range of their subnet. EKS
// returns the IP family.
func TestIPv6(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Cluster.IPv6 = true })
	cluster, err := l.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("demo")})
	if err != nil {
		t.Fatal(err)
	}
	if n := cluster.Cluster.KubernetesNetworkConfig; n.IpFamily != "ipv6" || n.ServiceIpv4Cidr != nil || !strings.HasPrefix(*n.ServiceIpv6Cidr, "fd") {
		t.Errorf("the network of the cluster is %+v", n)
	}
	subnet := l.privateSubnet("us-east-1a")
	subnets, err := l.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}})
	if err != nil {
		t.Fatal(err)
	}
	block := netip.MustParsePrefix(*subnets.Subnets[0].Ipv6CidrBlockAssociationSet[0].Ipv6CidrBlock)
	run := func(with bool) ec2types.Instance {
		nic := ec2types.InstanceNetworkInterfaceSpecification{DeviceIndex: aws.Int32(0), SubnetId: &subnet, Groups: []string{l.nodeGroup()}}
		if with {
			nic.Ipv6AddressCount, nic.PrimaryIpv6 = aws.Int32(1), aws.Bool(true)
		}
		out, err := l.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
			ImageId: aws.String(l.image("x86_64")), InstanceType: "m7i.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			NetworkInterfaces: []ec2types.InstanceNetworkInterfaceSpecification{nic},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.Instances[0]
	}
	i := run(true)
	address := netip.MustParseAddr(aws.ToString(i.Ipv6Address))
	if v6 := i.NetworkInterfaces[0].Ipv6Addresses; !block.Contains(address) || len(v6) != 1 || *v6[0].Ipv6Address != address.String() || !*v6[0].IsPrimaryIpv6 {
		t.Errorf("address %s of %s, interface %+v", address, block, v6)
	}
	if other := run(true); *other.Ipv6Address == address.String() {
		t.Error("two instances have one address")
	}
	if i := run(false); i.Ipv6Address != nil {
		t.Errorf("an instance that asks for none has %s", *i.Ipv6Address)
	}
	plain := newLab(t)
	nic := ec2types.InstanceNetworkInterfaceSpecification{DeviceIndex: aws.Int32(0), SubnetId: aws.String(plain.privateSubnet("us-east-1a")), Ipv6AddressCount: aws.Int32(1)}
	_, err = plain.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(plain.image("x86_64")), InstanceType: "m7i.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		NetworkInterfaces: []ec2types.InstanceNetworkInterfaceSpecification{nic},
	})
	if code(err) != "InvalidParameterValue" {
		t.Errorf("an address where there are none gives %v", err)
	}
}

// In another partition, all ARNs and domains are those of the partition.
func TestPartitions(t *testing.T) {
	for _, tt := range []struct{ region, like, partition, domain string }{
		{"us-gov-west-1", "", "aws-us-gov", "amazonaws.com"},
		{"cn-north-1", "eu-west-1", "aws-cn", "amazonaws.com.cn"},
		{"eu-west-1", "", "aws", "amazonaws.com"},
	} {
		l := newLab(t, func(c *Config) { c.Region, c.Like = tt.region, tt.like })
		who, err := l.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
		if err != nil {
			t.Fatal(err)
		}
		role, err := l.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("KarpenterNodeRole-demo")})
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := l.eks.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("demo")})
		if err != nil {
			t.Fatal(err)
		}
		subnets, err := l.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, arn := range []string{*who.Arn, *role.Role.Arn, *cluster.Cluster.Arn, *subnets.Subnets[0].SubnetArn} {
			if !strings.HasPrefix(arn, "arn:"+tt.partition+":") {
				t.Errorf("%s: %s", tt.region, arn)
			}
		}
		if zone := *subnets.Subnets[0].AvailabilityZone; !strings.HasPrefix(zone, tt.region) {
			t.Errorf("%s: zone %s", tt.region, zone)
		}
		regions, err := l.ec2.DescribeRegions(t.Context(), &ec2.DescribeRegionsInput{})
		if want := "ec2." + tt.region + "." + tt.domain; err != nil || *regions.Regions[0].Endpoint != want {
			t.Errorf("%s: %+v, %v", tt.region, regions, err)
		}
	}
	if _, err := New(Config{Region: "cn-north-1"}); err == nil {
		t.Error("a region that the catalogue does not have, and that is like none, is taken")
	}
}

// A cluster whose authentication mode is CONFIG_MAP has no access entries.
func TestAccessEntries(t *testing.T) {
	l := newLab(t)
	entries, err := l.eks.ListAccessEntries(t.Context(), &eks.ListAccessEntriesInput{ClusterName: aws.String("demo")})
	if err != nil || len(entries.AccessEntries) != 1 || !strings.HasSuffix(entries.AccessEntries[0], "role/KarpenterNodeRole-demo") {
		t.Fatalf("the entries are %+v, %v", entries, err)
	}
	entry, err := l.eks.DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{ClusterName: aws.String("demo"), PrincipalArn: &entries.AccessEntries[0]})
	if err != nil || *entry.AccessEntry.Type != "EC2_LINUX" {
		t.Errorf("the entry is %+v, %v", entry, err)
	}
	old := newLab(t, func(c *Config) { c.Cluster.AccessMode = "CONFIG_MAP" })
	_, err = old.eks.DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{ClusterName: aws.String("demo"), PrincipalArn: &entries.AccessEntries[0]})
	if code(err) != "InvalidRequestException" {
		t.Errorf("without access entries: %v", err)
	}
}

// code returns the error code of AWS in err, "" if there is none.
func code(err error) string {
	var refused smithy.APIError
	if !errors.As(err, &refused) {
		return ""
	}
	return refused.ErrorCode()
}

// With the same seed and the same calls, all responses are equal, including ids and prices. With another seed they differ.
func TestSameSeedSameRun(t *testing.T) {
	run := func(seed uint64) []control.Call {
		l := newLab(t, func(c *Config) { c.Seed, c.Throttle = seed, "ec2" })
		l.template("lt-x", "hello")
		l.launch(l.fleet("lt-x", spot, 3, choice{typ: "m7i.large", zone: "us-east-1a"}))
		_, err := l.Interrupt(control.Interrupt{Random: 1})
		if err != nil {
			t.Fatal(err)
		}
		l.clock.Step(5 * time.Minute)
		for _, path := range []string{"i-none", "i-none"} {
			_, err := l.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{path}})
			if code(err) != "InvalidInstanceID.NotFound" {
				t.Fatal(err)
			}
		}
		prices, err := l.ec2.DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{
			InstanceTypes: []ec2types.InstanceType{"m7i.large"}, StartTime: aws.Time(start.Add(-24 * time.Hour)),
		})
		if err != nil {
			t.Fatal(err)
		}
		calls := l.Calls(0)
		for n := range calls {
			calls[n].UserAgent = ""
			for key := range calls[n].Params {
				if strings.HasSuffix(key, "ClientToken") { // made by the SDK
					delete(calls[n].Params, key)
				}
			}
		}
		for _, p := range prices.SpotPriceHistory {
			calls = append(calls, control.Call{Action: *p.AvailabilityZone + " " + *p.SpotPrice})
		}
		for _, i := range l.Instances() {
			calls = append(calls, control.Call{Action: i.ID + " " + i.State + " " + i.Reason})
		}
		return calls
	}
	first := run(1)
	if diff := cmp.Diff(first, run(1)); diff != "" {
		t.Errorf("two runs of one seed differ:\n%s", diff)
	}
	if cmp.Equal(first, run(2)) {
		t.Error("another seed makes the same run")
	}
}
