package awsemu

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

func filter(name string, values ...string) ec2types.Filter {
	return ec2types.Filter{Name: &name, Values: values}
}

func TestDescribeInstanceTypes(t *testing.T) {
	l := newLab(t)
	pages := ec2.NewDescribeInstanceTypesPaginator(l.ec2, &ec2.DescribeInstanceTypesInput{
		MaxResults: aws.Int32(100),
		Filters: []ec2types.Filter{
			filter("supported-virtualization-type", "hvm"),
			filter("processor-info.supported-architecture", "x86_64", "arm64"),
		},
	})
	byName := map[ec2types.InstanceType]ec2types.InstanceTypeInfo{}
	for pages.HasMorePages() {
		page := must[*ec2.DescribeInstanceTypesOutput](t)(pages.NextPage(bg()))
		if len(page.InstanceTypes) > 100 {
			t.Errorf("a page of %d, want at most 100", len(page.InstanceTypes))
		}
		for _, i := range page.InstanceTypes {
			if _, twice := byName[i.InstanceType]; twice {
				t.Errorf("%s is listed twice", i.InstanceType)
			}
			byName[i.InstanceType] = i
			// Clients read these fields without checking them for nil.
			if i.NetworkInfo == nil || i.NetworkInfo.DefaultNetworkCardIndex == nil || len(i.NetworkInfo.NetworkCards) == 0 ||
				i.NetworkInfo.Ipv4AddressesPerInterface == nil || i.VCpuInfo == nil || i.MemoryInfo == nil ||
				i.ProcessorInfo == nil || i.PlacementGroupInfo == nil {
				t.Errorf("%s lacks what clients take for granted", i.InstanceType)
			}
		}
	}
	if len(byName) < 800 {
		t.Fatalf("%d types, want more than 800", len(byName))
	}
	m5 := byName["m5.large"]
	if *m5.VCpuInfo.DefaultVCpus != 2 || *m5.MemoryInfo.SizeInMiB != 8192 || m5.Hypervisor != "nitro" || *m5.NetworkInfo.Ipv4AddressesPerInterface != 10 ||
		*m5.NetworkInfo.NetworkCards[0].MaximumNetworkInterfaces != 3 || *m5.ProcessorInfo.SustainedClockSpeedInGhz != 3.1 ||
		*m5.ProcessorInfo.Manufacturer != "Intel" || m5.EbsInfo.EbsOptimizedSupport != "default" || *m5.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps != 4750 {
		t.Errorf("m5.large is %+v", m5)
	}
	if len(m5.SupportedUsageClasses) != 2 || m5.InstanceStorageInfo != nil || m5.GpuInfo != nil {
		t.Errorf("m5.large has usage classes %v, storage %v, GPUs %v", m5.SupportedUsageClasses, m5.InstanceStorageInfo, m5.GpuInfo)
	}
	g5 := byName["g5.12xlarge"]
	if len(g5.GpuInfo.Gpus) != 1 || *g5.GpuInfo.Gpus[0].Count != 4 || *g5.GpuInfo.Gpus[0].Name != "A10G" || *g5.GpuInfo.Gpus[0].MemoryInfo.SizeInMiB != 24576 {
		t.Errorf("GPUs of g5.12xlarge are %+v", g5.GpuInfo)
	}
	if *g5.InstanceStorageInfo.TotalSizeInGB != 3800 || g5.InstanceStorageInfo.NvmeSupport != "required" {
		t.Errorf("storage of g5.12xlarge is %+v", g5.InstanceStorageInfo)
	}
	inf2 := byName["inf2.24xlarge"]
	if *inf2.NeuronInfo.NeuronDevices[0].Count != 6 || *inf2.NeuronInfo.NeuronDevices[0].CoreInfo.Count != 2 || *inf2.NeuronInfo.NeuronDevices[0].Name != "Inferentia2" {
		t.Errorf("chips of inf2.24xlarge are %+v", inf2.NeuronInfo)
	}
	p5 := byName["p5.48xlarge"]
	if len(p5.NetworkInfo.NetworkCards) != 32 || *p5.NetworkInfo.EfaInfo.MaximumEfaInterfaces != 32 {
		t.Errorf("network of p5.48xlarge is %+v", p5.NetworkInfo)
	}

	named := must[*ec2.DescribeInstanceTypesOutput](t)(l.ec2.DescribeInstanceTypes(bg(), &ec2.DescribeInstanceTypesInput{
		InstanceTypes: []ec2types.InstanceType{"t4g.small", "m5.large"},
	}))
	if len(named.InstanceTypes) != 2 {
		t.Errorf("asked for two by name, got %d", len(named.InstanceTypes))
	}
	for code, in := range map[string]*ec2.DescribeInstanceTypesInput{
		"InvalidInstanceType":   {InstanceTypes: []ec2types.InstanceType{"m5.tiny"}},
		"InvalidParameterValue": {MaxResults: aws.Int32(101)},
		"DryRunOperation":       {DryRun: aws.Bool(true)},
	} {
		_, err := l.ec2.DescribeInstanceTypes(bg(), in)
		wantCode(t, err, code)
	}
	_, err := l.ec2.DescribeInstanceTypes(bg(), &ec2.DescribeInstanceTypesInput{Filters: []ec2types.Filter{filter("colour", "red")}})
	wantCode(t, err, "InvalidParameterValue")
}

func TestDescribeInstanceTypeOfferings(t *testing.T) {
	l := newLab(t)
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(l.ec2, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: ec2types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(1000),
	})
	zones := map[ec2types.InstanceType][]string{}
	for pages.HasMorePages() {
		for _, o := range must[*ec2.DescribeInstanceTypeOfferingsOutput](t)(pages.NextPage(bg())).InstanceTypeOfferings {
			zones[o.InstanceType] = append(zones[o.InstanceType], *o.Location)
		}
	}
	if diff := cmp.Diff([]string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f"}, zones["m7i.large"]); diff != "" {
		t.Errorf("zones of m7i.large differ (-want +got):\n%s", diff)
	}
	byID := must[*ec2.DescribeInstanceTypeOfferingsOutput](t)(l.ec2.DescribeInstanceTypeOfferings(bg(), &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: ec2types.LocationTypeAvailabilityZoneId, Filters: []ec2types.Filter{filter("instance-type", "m7i.large"), filter("location", "use1-az*")},
	}))
	if len(byID.InstanceTypeOfferings) != 5 || *byID.InstanceTypeOfferings[0].Location != "use1-az1" {
		t.Errorf("offerings by zone id are %+v", byID.InstanceTypeOfferings)
	}
}

func TestDescribeSpotPriceHistory(t *testing.T) {
	l := newLab(t)
	ask := func(from time.Time) []ec2types.SpotPrice {
		t.Helper()
		return must[*ec2.DescribeSpotPriceHistoryOutput](t)(l.ec2.DescribeSpotPriceHistory(bg(), &ec2.DescribeSpotPriceHistoryInput{
			ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"}, StartTime: &from,
			InstanceTypes: []ec2types.InstanceType{"m5.large"}, AvailabilityZone: aws.String("us-east-1a"),
		})).SpotPriceHistory
	}
	now := ask(start)
	if len(now) != 1 || now[0].Timestamp.After(start) || *now[0].AvailabilityZone != "us-east-1a" {
		t.Fatalf("prices as of now are %+v, want the one in force", now)
	}
	price, err := strconv.ParseFloat(*now[0].SpotPrice, 64)
	if err != nil || price < 0.028 || price > 0.036 {
		t.Errorf("spot price is %s (%v), want about 0.0317", *now[0].SpotPrice, err)
	}
	if day := ask(start.Add(-24 * time.Hour)); len(day) != 5 || !day[0].Timestamp.After(*day[4].Timestamp) {
		t.Errorf("%d prices of a day, want the one in force and four steps, newest first", len(day))
	}
	l.clock.Step(time.Minute)
	if err := l.SetPrice(control.Price{Pool: control.Pool{Type: "m5.large", Zone: "us-east-1a"}, USD: 0.05}); err != nil {
		t.Fatal(err)
	}
	l.clock.Step(time.Minute)
	if moved := ask(start); len(moved) != 2 || *moved[0].SpotPrice != "0.050000" || !moved[0].Timestamp.Equal(start.Add(time.Minute)) {
		t.Errorf("prices after the move are %+v", moved)
	}
	l.world.ClearPrices()
	if again := ask(l.clock.Now()); *again[0].SpotPrice != *now[0].SpotPrice {
		t.Errorf("cleared price is %s, want %s again", *again[0].SpotPrice, *now[0].SpotPrice)
	}

	pages := ec2.NewDescribeSpotPriceHistoryPaginator(l.ec2, &ec2.DescribeSpotPriceHistoryInput{
		StartTime: aws.Time(l.clock.Now()), MaxResults: aws.Int32(2000),
	})
	seen := map[string]bool{}
	for pages.HasMorePages() {
		for _, p := range must[*ec2.DescribeSpotPriceHistoryOutput](t)(pages.NextPage(bg())).SpotPriceHistory {
			seen[string(p.InstanceType)+*p.AvailabilityZone] = true
		}
	}
	if len(seen) < 3500 {
		t.Errorf("%d pools have a price, want more than 3500", len(seen))
	}
}

func TestDescribeNetwork(t *testing.T) {
	l := newLab(t)
	subnets := must[*ec2.DescribeSubnetsOutput](t)(l.ec2.DescribeSubnets(bg(), &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{filter("tag:karpenter.sh/discovery", "demo")}, MaxResults: aws.Int32(500),
	})).Subnets
	if len(subnets) != 6 {
		t.Fatalf("%d discovery subnets, want one a zone", len(subnets))
	}
	for _, s := range subnets {
		if *s.AvailableIpAddressCount != 4091 || !strings.HasPrefix(*s.AvailabilityZoneId, "use1-az") || s.State != "available" {
			t.Errorf("subnet is %+v", s)
		}
	}
	all := ec2.NewDescribeSubnetsPaginator(l.ec2, &ec2.DescribeSubnetsInput{MaxResults: aws.Int32(5)})
	total := 0
	for all.HasMorePages() {
		total += len(must[*ec2.DescribeSubnetsOutput](t)(all.NextPage(bg())).Subnets)
	}
	if total != 12 {
		t.Errorf("%d subnets over all pages, want 12", total)
	}
	_, err := l.ec2.DescribeSubnets(bg(), &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-1"}})
	wantCode(t, err, "InvalidSubnetID.NotFound")

	groups := must[*ec2.DescribeSecurityGroupsOutput](t)(l.ec2.DescribeSecurityGroups(bg(), &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{filter("group-name", "demo-*")},
	})).SecurityGroups
	if len(groups) != 1 || *groups[0].GroupName != "demo-node" {
		t.Errorf("groups are %+v", groups)
	}
	zones := must[*ec2.DescribeAvailabilityZonesOutput](t)(l.ec2.DescribeAvailabilityZones(bg(), &ec2.DescribeAvailabilityZonesInput{})).AvailabilityZones
	if len(zones) != 6 || *zones[0].ZoneName != "us-east-1a" || *zones[0].ZoneId != "use1-az1" {
		t.Errorf("zones are %+v", zones)
	}
}

func TestDescribeImages(t *testing.T) {
	l := newLab(t)
	out := must[*ec2.DescribeImagesOutput](t)(l.ec2.DescribeImages(bg(), &ec2.DescribeImagesInput{
		Owners: []string{"self", "amazon"}, IncludeDeprecated: aws.Bool(true), MaxResults: aws.Int32(1000),
		Filters: []ec2types.Filter{filter("name", "amazon-eks-node-al2023-x86_64-standard-1.36-*"), filter("state", "available")},
	}))
	if len(out.Images) != 3 {
		t.Fatalf("%d images of AL2023 for 1.36, want three releases", len(out.Images))
	}
	newest := out.Images[0]
	for _, i := range out.Images {
		if *i.CreationDate > *newest.CreationDate {
			newest = i
		}
		if i.Architecture != "x86_64" || i.DeprecationTime == nil {
			t.Errorf("image is %+v", i)
		}
	}
	if *newest.ImageId != l.image("x86_64") {
		t.Errorf("the recommended image is %s, the newest %s", l.image("x86_64"), *newest.ImageId)
	}
	count := func(deprecated bool) int {
		return len(must[*ec2.DescribeImagesOutput](t)(l.ec2.DescribeImages(bg(), &ec2.DescribeImagesInput{
			IncludeDeprecated: &deprecated, Filters: []ec2types.Filter{filter("name", "*-1.36-v20260514")},
		})).Images)
	}
	l.clock.SetTime(time.Date(2028, 6, 1, 0, 0, 0, 0, time.UTC))
	if without, with := count(false), count(true); without != 0 || with == 0 {
		t.Errorf("two years on: %d images without the deprecated, %d with; want none and some", without, with)
	}
	_, err := l.ec2.DescribeImages(bg(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-1"}})
	wantCode(t, err, "InvalidAMIID.NotFound")
}

func TestLaunchTemplates(t *testing.T) {
	l := newLab(t)
	name := "karpenter.k8s.aws/123"
	made := l.template(name, "hello")
	if *made.LatestVersionNumber != 1 || *made.DefaultVersionNumber != 1 || *made.LaunchTemplateName != name {
		t.Errorf("template is %+v", made)
	}
	found := must[*ec2.DescribeLaunchTemplatesOutput](t)(l.ec2.DescribeLaunchTemplates(bg(), &ec2.DescribeLaunchTemplatesInput{
		Filters: []ec2types.Filter{filter("tag:eks:eks-cluster-name", "demo")}, MaxResults: aws.Int32(200),
	})).LaunchTemplates
	if len(found) != 1 || *found[0].LaunchTemplateId != *made.LaunchTemplateId {
		t.Errorf("by tag: %+v", found)
	}
	versions := must[*ec2.DescribeLaunchTemplateVersionsOutput](t)(l.ec2.DescribeLaunchTemplateVersions(bg(), &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateName: &name, Versions: []string{"$Latest"},
	})).LaunchTemplateVersions
	if len(versions) != 1 {
		t.Fatalf("%d versions, want 1", len(versions))
	}
	data := versions[0].LaunchTemplateData
	if *data.UserData != base64.StdEncoding.EncodeToString([]byte("hello")) || *data.BlockDeviceMappings[0].Ebs.VolumeSize != 30 ||
		data.MetadataOptions.HttpTokens != "required" || data.NetworkInterfaces[0].Groups[0] != l.nodeGroup() {
		t.Errorf("data is %+v", data)
	}

	create := func(change func(*ec2.CreateLaunchTemplateInput)) error {
		in := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("another"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{}}
		change(in)
		_, err := l.ec2.CreateLaunchTemplate(bg(), in)
		return err
	}
	for code, change := range map[string]func(*ec2.CreateLaunchTemplateInput){
		"InvalidLaunchTemplateName.AlreadyExistsException": func(in *ec2.CreateLaunchTemplateInput) { in.LaunchTemplateName = &name },
		"InvalidLaunchTemplateName.MalformedException":     func(in *ec2.CreateLaunchTemplateInput) { in.LaunchTemplateName = aws.String("a b c") },
		"InvalidAMIID.Malformed":                           func(in *ec2.CreateLaunchTemplateInput) { in.LaunchTemplateData.ImageId = aws.String("img-1") },
		"DryRunOperation":                                  func(in *ec2.CreateLaunchTemplateInput) { in.DryRun = aws.Bool(true) },
		"InvalidUserData.Malformed": func(in *ec2.CreateLaunchTemplateInput) {
			in.LaunchTemplateData.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
		},
	} {
		wantCode(t, create(change), code)
	}
	err := create(func(in *ec2.CreateLaunchTemplateInput) {
		in.LaunchTemplateData.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
	})
	var api smithy.APIError
	if !errors.As(err, &api) || !strings.HasPrefix(api.ErrorMessage(), "User data is limited to") {
		t.Errorf("too long user data gives %v", err)
	}
	if err := create(func(in *ec2.CreateLaunchTemplateInput) {
		in.LaunchTemplateData.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16384)))
	}); err != nil {
		t.Errorf("16384 bytes of user data give %v", err)
	}

	must[*ec2.DeleteLaunchTemplateOutput](t)(l.ec2.DeleteLaunchTemplate(bg(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: made.LaunchTemplateId}))
	_, err = l.ec2.DeleteLaunchTemplate(bg(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: made.LaunchTemplateId})
	wantCode(t, err, "InvalidLaunchTemplateId.NotFound")
	_, err = l.ec2.DescribeLaunchTemplates(bg(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{name}})
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
}
