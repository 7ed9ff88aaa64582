package catalog

import (
	"fmt"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// Shipped returns the instance types of a region from the catalogue in the binary, without calls of AWS. It assumes
// nodes of AL2023 with a subnet in each zone and default disks. Prices are those of the date of the catalogue (AsOf).
// Spot prices are averages over zones.
func Shipped(region string) ([]*model.InstanceType, error) {
	return fromTable(region, Shape{Region: region, Family: FamilyByName(awsv1.AMIFamilyAL2023)})
}

// ShippedFor is Shipped for nodes of a class. It uses the settings of the class, such as image family, kubelet
// settings, disks and network interfaces. Expressions in the kubelet section are not evaluated. It uses the zones of
// the subnets in the status of the class. If none of them is in the region, it uses all zones. A class with neither
// amiFamily nor amiSelectorTerms has nodes of AL2023.
func ShippedFor(region string, class *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	if class.Spec.AMIFamily == nil && len(class.Spec.AMISelectorTerms) == 0 {
		family := awsv1.AMIFamilyAL2023
		class = class.DeepCopy()
		class.Spec.AMIFamily = &family
	}
	return fromTable(region, ShapeOf(class, region, Options{}))
}

// Regions returns the names of the regions for which Shipped has types, in order.
// It returns nil if the catalogue cannot be decoded.
func Regions() []string {
	table, err := shipped.Load()
	if err != nil {
		return nil
	}
	names := make([]string, len(table.Regions))
	for i, r := range table.Regions {
		names[i] = r.Name
	}
	return names
}

// AsOf returns the date of the instance types of Shipped, as YYYY-MM-DD. It returns an empty string if the catalogue
// cannot be decoded.
func AsOf() string {
	table, err := shipped.Load()
	if err != nil {
		return ""
	}
	return table.AsOf.Instances
}

// Names returns the names of the instance types in the SDK of AWS, in no particular order. Some of them are newer than
// those of Shipped.
func Names() []string { return texts(ec2types.InstanceType("").Values()) }

// fromTable returns the types of a region for a shape, with default Options. If the shape has no zone of the region,
// all zones are used.
func fromTable(region string, shape Shape) ([]*model.InstanceType, error) {
	table, err := shipped.Load()
	if err != nil {
		return nil, err
	}
	r, ok := table.Region(region)
	if !ok {
		return nil, fmt.Errorf("look up region %q in the shipped catalog: not there", region)
	}
	inv := Inventory{Zones: map[string][]string{}}
	prices := listPrices{}
	for _, o := range r.Offers {
		m := fromShipped(table.Types[o.Type])
		inv.Machines = append(inv.Machines, m)
		inv.Zones[m.Name] = r.Sells(o)
		prices[m.Name] = o
	}
	all, some := map[string]string{}, map[string]string{}
	for _, z := range r.Zones {
		all[z.Name] = z.ID
		if _, ok := shape.Zones[z.Name]; ok {
			some[z.Name] = z.ID
		}
	}
	shape.Zones, shape.Options = some, Options{MemoryOverhead: DefaultMemoryOverhead}
	if len(some) == 0 {
		shape.Zones = all
	}
	always := func(*model.InstanceType, *model.Offering) bool { return true }
	return Price(Build(inv, shape), prices, always), nil
}

// DefaultMemoryOverhead is the default share of memory that the hypervisor uses.
const DefaultMemoryOverhead = 0.075

// listPrices are the shipped prices of one region, by type name.
type listPrices map[string]shipped.Offer

func (l listPrices) OnDemand(name string) (float64, bool) {
	p := l[name].OnDemand
	return p, p > 0
}

func (l listPrices) SpotSince(_, _ string) time.Time { return time.Time{} }

func (l listPrices) Covers(_, _ string) ([]commitment.Cover, float64) { return nil, 0 }

func (l listPrices) Spot(name, _ string) (float64, bool) {
	p := l[name].Spot
	return p, p > 0
}

func (l listPrices) Revision() uint64 { return 0 }
