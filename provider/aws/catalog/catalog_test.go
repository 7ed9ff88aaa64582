package catalog

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// ec2Fake offers two types, each on its own page.
type ec2Fake struct {
	types []ec2types.InstanceTypeInfo
	sold  []ec2types.InstanceTypeOffering
	err   error
}

func (f *ec2Fake) DescribeInstanceTypes(
	_ context.Context, in *ec2.DescribeInstanceTypesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeInstanceTypesOutput, error) {
	if f.err != nil {
		return nil, f.err
	}
	if in.NextToken == nil {
		return &ec2.DescribeInstanceTypesOutput{InstanceTypes: f.types[:1], NextToken: aws.String("2")}, nil
	}
	return &ec2.DescribeInstanceTypesOutput{InstanceTypes: f.types[1:]}, nil
}

func (f *ec2Fake) DescribeInstanceTypeOfferings(
	context.Context, *ec2.DescribeInstanceTypeOfferingsInput, ...func(*ec2.Options),
) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	return &ec2.DescribeInstanceTypeOfferingsOutput{InstanceTypeOfferings: f.sold}, f.err
}

func info(name string, arch ec2types.ArchitectureType) ec2types.InstanceTypeInfo {
	return ec2types.InstanceTypeInfo{
		InstanceType: ec2types.InstanceType(name), Hypervisor: "nitro",
		SupportedUsageClasses: []ec2types.UsageClassType{"on-demand", "spot", "capacity-block"},
		VCpuInfo:              &ec2types.VCpuInfo{DefaultVCpus: aws.Int32(2)},
		MemoryInfo:            &ec2types.MemoryInfo{SizeInMiB: aws.Int64(8192)},
		ProcessorInfo:         &ec2types.ProcessorInfo{SupportedArchitectures: []ec2types.ArchitectureType{arch}},
		NetworkInfo: &ec2types.NetworkInfo{
			DefaultNetworkCardIndex: aws.Int32(0), Ipv4AddressesPerInterface: aws.Int32(10),
			NetworkCards: []ec2types.NetworkCardInfo{{
				NetworkCardIndex: aws.Int32(0), MaximumNetworkInterfaces: aws.Int32(3), BaselineBandwidthInGbps: aws.Float64(0.9375),
			}},
		},
	}
}

func offer(name, zone string) ec2types.InstanceTypeOffering {
	return ec2types.InstanceTypeOffering{InstanceType: ec2types.InstanceType(name), Location: aws.String(zone)}
}

// fixedPrices has on-demand prices by type. The spot price is half of the on-demand price.
type fixedPrices struct {
	list     map[string]float64
	revision uint64
}

func (f *fixedPrices) OnDemand(name string) (float64, bool) { p, ok := f.list[name]; return p, ok }
func (f *fixedPrices) SpotSince(_, _ string) time.Time      { return time.Time{} }
func (f *fixedPrices) Covers(_, _ string) ([]commitment.Cover, float64) {
	return nil, 0
}

func (f *fixedPrices) Spot(name, zone string) (float64, bool) {
	p, ok := f.list[name]
	return p / 2, ok && zone != "z-unpriced"
}
func (f *fixedPrices) Revision() uint64 { return f.revision }

func testCatalog(t *testing.T) (*Catalog, *ec2Fake, *fixedPrices, *clocktesting.FakeClock) {
	t.Helper()
	fake := &ec2Fake{
		types: []ec2types.InstanceTypeInfo{info("m8g.large", "arm64"), info("m5.large", "x86_64")},
		sold:  []ec2types.InstanceTypeOffering{offer("m5.large", "a"), offer("m5.large", "b"), offer("m8g.large", "b"), offer("m8g.large", "c")},
	}
	prices := &fixedPrices{list: map[string]float64{"m5.large": 0.1, "m8g.large": 0.08}}
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	table, err := shipped.Load()
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{API: fake, Region: "r", Prices: prices, Shortages: NewShortages(clock), Shipped: table,
		Options: Options{MemoryOverhead: DefaultMemoryOverhead}})
	return c, fake, prices, clock
}

func testClass() *awsv1.EC2NodeClass {
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "u", Generation: 1}}
	class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
	class.Status.Subnets = []awsv1.Subnet{{ID: "s-a", Zone: "a", ZoneID: "1"}, {ID: "s-b", Zone: "b", ZoneID: "2"}, {ID: "s-b2", Zone: "b", ZoneID: "2"}}
	return class
}

func typesOf(t *testing.T, c *Catalog, class *awsv1.EC2NodeClass) []*model.InstanceType {
	t.Helper()
	list, err := c.Types(class)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// available lists the available offerings, as type/zone/capacity type.
func available(list []*model.InstanceType) []string {
	var out []string
	for _, it := range list {
		for _, o := range it.Offerings {
			if o.Available {
				out = append(out, it.Name+"/"+o.Zone+"/"+o.CapacityType)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestTypesFollowTheWorld(t *testing.T) {
	c, fake, prices, clock := testCatalog(t)
	class := testClass()
	if _, err := c.Types(class); err == nil {
		t.Error("types before the first refresh: no error")
	}
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := typesOf(t, c, class)
	all := []string{
		"m5.large/a/on-demand", "m5.large/a/spot", "m5.large/b/on-demand", "m5.large/b/spot",
		"m8g.large/b/on-demand", "m8g.large/b/spot", // not in c: the class has no subnet there
	}
	if got := available(first); !slices.Equal(got, all) {
		t.Errorf("available: %v, want %v", got, all)
	}
	same := func(what string, want bool) {
		t.Helper()
		if got := &typesOf(t, c, class)[0] == &first[0]; got != want {
			t.Errorf("%s: same slice is %v, want %v", what, got, want)
		}
		first = typesOf(t, c, class)
	}
	same("nothing happened", true)

	c.shortages.MarkOffering("m5.large", "a", apiv1.CapacityTypeSpot, Place{})
	same("a shortage came", false)
	if got := available(first); slices.Contains(got, "m5.large/a/spot") || len(got) != len(all)-1 {
		t.Errorf("available after a shortage: %v", got)
	}
	clock.Step(shortageLife)
	same("the shortage went", false)

	c.shortages.MarkSubnet("s-b")
	if got := available(typesOf(t, c, class)); len(got) != len(all) {
		t.Errorf("available with one of two subnets full: %v", got)
	}
	c.shortages.MarkSubnet("s-b2")
	if got := available(typesOf(t, c, class)); !slices.Equal(got, all[:2]) {
		t.Errorf("available with all subnets of zone b full: %v", got)
	}
	clock.Step(shortageLife)
	typesOf(t, c, class)

	delete(prices.list, "m8g.large")
	prices.revision++
	if got := available(typesOf(t, c, class)); !slices.Equal(got, all[:4]) {
		t.Errorf("available without a price of m8g: %v", got)
	}
	first = typesOf(t, c, class)
	fake.types[1].MemoryInfo.SizeInMiB = aws.Int64(4096)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	same("EC2 says otherwise", false)
}

// placed is a placement group that each class selects.
type placed placement.Group

func (p placed) Last(*awsv1.EC2NodeClass) *placement.Group { g := placement.Group(p); return &g }

// A partition without capacity closes only its own offerings of a type.
func TestPartitionWithoutCapacity(t *testing.T) {
	c, _, _, _ := testCatalog(t)
	c.placed = placed{ID: "pg-1", Partitions: 2}
	c.shortages.MarkOffering("m5.large", "a", apiv1.CapacityTypeSpot, Place{"pg-1", "1"})
	base := []*model.InstanceType{{
		Name: "m5.large", Offerings: Shape{Group: c.placed.Last(nil)}.spread(offering("a", "", apiv1.CapacityTypeSpot)),
	}}
	got := c.price(base, testClass())[0].Offerings
	if len(got) != 2 || got[0].Available || !got[1].Available {
		t.Errorf("available are %v in partition 1 and %v in partition 2", got[0].Available, got[1].Available)
	}
}

// A type that is sold only as capacity blocks has offerings in the reservations of the class, and is omitted without.
func TestTypeOfCapacityBlocksOnly(t *testing.T) {
	c, fake, _, _ := testCatalog(t)
	fake.types[0].SupportedUsageClasses = []ec2types.UsageClassType{"capacity-block"}
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	class := testClass()
	if list := typesOf(t, c, class); len(list) != 1 || list[0].Name != "m5.large" {
		t.Fatalf("without a reservation there are %d types", len(list))
	}
	class.Status.CapacityReservations = []awsv1.CapacityReservation{{
		ID: "cr-1", InstanceType: "m8g.large", AvailabilityZone: "b", ReservationType: awsv1.CapacityReservationTypeCapacityBlock,
	}}
	got := model.TypeNamed(typesOf(t, c, class), "m8g.large")
	if got == nil || len(got.Offerings) != 1 || got.Offerings[0].ReservationID != "cr-1" || !got.Offerings[0].Available {
		t.Fatalf("with a capacity block, the type is %+v", got)
	}
	if r, _ := got.Requirements.Get(apiv1.CapacityTypeLabelKey); r.Has(apiv1.CapacityTypeOnDemand) || !r.Has(apiv1.CapacityTypeReserved) {
		t.Errorf("capacity types are %v", r)
	}
}

// Reserved offerings are never free, so smaller types are preferred to larger ones also without on-demand prices.
func TestReservedOfferingsWithoutOnDemandPrice(t *testing.T) {
	c, fake, prices, _ := testCatalog(t)
	large := info("m8g.xlarge", "arm64")
	large.VCpuInfo.DefaultVCpus = aws.Int32(4)
	fake.types, fake.sold = append(fake.types, large), append(fake.sold, offer("m8g.xlarge", "b"))
	delete(prices.list, "m8g.large") // not known
	prices.list["m5.large"] = 0      // by a discount of 100%
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	class, got := testClass(), map[string]float64{}
	for _, name := range []string{"m5.large", "m8g.large", "m8g.xlarge"} {
		class.Status.CapacityReservations = append(class.Status.CapacityReservations, awsv1.CapacityReservation{
			ID: "cr-" + name, InstanceType: name, AvailabilityZone: "b", ReservationType: awsv1.CapacityReservationTypeDefault,
		})
	}
	for _, it := range typesOf(t, c, class) {
		for _, o := range it.Offerings {
			if o.ReservationID != "" && o.Available {
				got[it.Name] = o.Price
			}
		}
	}
	if got["m5.large"] <= 0 || got["m8g.large"] != got["m5.large"] || got["m8g.xlarge"] != 2*got["m8g.large"] {
		t.Errorf("prices are %v", got)
	}
}

// The number of branch interfaces is read from the shipped table, even for a type of which the table has no other
// facts.
func TestBranchInterfacesOfNewTypes(t *testing.T) {
	table, err := shipped.Load()
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{Region: "us-east-1", Shipped: table})
	for name, want := range map[string]int64{"m5.large": 9, "m9g.large": table.BranchENIs["m9g.large"], "zz9.large": 0} {
		m, ok := fromEC2(info(name, "x86_64"), c.known[name])
		if !ok || m.BranchENIs != want || name == "m9g.large" && want == 0 {
			t.Errorf("%s has %d branch interfaces, want %d", name, m.BranchENIs, want)
		}
	}
}

func TestTypesDependOnTheImages(t *testing.T) {
	c, _, _, _ := testCatalog(t)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	class := testClass()
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1", Requirements: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}},
	}}}
	got := typesOf(t, c, class)
	if len(got) != 1 || got[0].Name != "m8g.large" {
		t.Errorf("with an image for arm64 only there are %d types, first %s", len(got), got[0].Name)
	}
}

func TestRefreshKeepsTheOldAnswer(t *testing.T) {
	c, fake, _, _ := testCatalog(t)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	fake.err = context.DeadlineExceeded
	if err := c.Refresh(t.Context()); err == nil {
		t.Error("refresh hides the error")
	}
	if got := typesOf(t, c, testClass()); len(got) != 2 {
		t.Errorf("%d types after a failed refresh, want 2", len(got))
	}
	if m, ok := c.Machine("m5.large"); !ok || m.NetworkMbps != 937 || m.BranchENIs != 9 {
		t.Errorf("m5.large is %+v", m)
	}
}

// Facts that EC2 omits do not prevent the conversion of the others.
func TestMissingFacts(t *testing.T) {
	if _, ok := fromEC2(ec2types.InstanceTypeInfo{InstanceType: "x1.large"}, shipped.Type{}); ok {
		t.Error("a type without CPU and memory was taken")
	}
	bare := info("x1.large", "x86_64")
	bare.NetworkInfo = nil
	m, ok := fromEC2(bare, shipped.Type{})
	if !ok || pods(m, shape(awsv1.AMIFamilyAL2023)) != 0 {
		t.Errorf("a type without network facts: %+v, %v", m, ok)
	}
}

func TestShipped(t *testing.T) {
	list, err := Shipped("us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 700 || len(available(list)) < 4000 {
		t.Errorf("%d types, %d offerings", len(list), len(available(list)))
	}
	if _, err := Shipped("nowhere-1"); err == nil {
		t.Error("an unknown region has types")
	}
}

func TestExcludes(t *testing.T) {
	for _, tt := range []struct {
		name, machine string
		change        func(*Shape)
		want          bool
	}{
		{"plain", "m5.large", func(*Shape) {}, false},
		{"AL2023 on a1", "a1.medium", func(*Shape) {}, true},
		{"connection tracking on metal", "m5.metal", func(s *Shape) { s.ConnectionTracking = true }, true},
		{"connection tracking on nitro", "m5.large", func(s *Shape) { s.ConnectionTracking = true }, false},
		{"nested virtualization", "m5.large", func(s *Shape) { s.NestedVirtualization = true }, true},
		{"enclaves", "m5.xlarge", func(s *Shape) { s.Enclaves = true }, false},
		{"enclaves on a burstable type", "t3.large", func(s *Shape) { s.Enclaves = true }, true},
		{"a card that is not there", "m5.large", func(s *Shape) {
			s.Interfaces = []*awsv1.NetworkInterface{{NetworkCardIndex: 1}}
		}, true},
		{"EFA without EFA", "m5.large", func(s *Shape) {
			s.Interfaces = []*awsv1.NetworkInterface{{DeviceIndex: 1, InterfaceType: awsv1.InterfaceTypeEFAOnly}}
		}, true},
	} {
		s := shape(awsv1.AMIFamilyAL2023)
		tt.change(&s)
		m := machine(t, tt.machine)
		if why := s.excludes(m, Requirements(m, s)); (why != "") != tt.want {
			t.Errorf("%s: excluded because of %q", tt.name, why)
		}
	}
}

// An offering of which only the price is missing is unpriced. An offering that is out of stock is not unpriced.
func TestUnpricedOfferings(t *testing.T) {
	base := []*model.InstanceType{{Name: "x9.large", Offerings: []model.Offering{
		{Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand}, {Zone: "b", CapacityType: apiv1.CapacityTypeOnDemand},
	}}}
	inA := func(_ *model.InstanceType, o *model.Offering) bool { return o.Zone == "a" }
	got := Price(base, &fixedPrices{}, inA)[0].Offerings
	if got[0].Available || !got[0].Unpriced || got[1].Available || got[1].Unpriced {
		t.Errorf("without a price: %+v", got)
	}
	got = Price(base, &fixedPrices{list: map[string]float64{"x9.large": 1}}, inA)[0].Offerings
	if !got[0].Available || got[0].Unpriced || got[1].Available || got[1].Unpriced {
		t.Errorf("with a price: %+v", got)
	}
}
