package catalog

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/karpenter-go/karpenter/internal/parallel"
)

// API is the part of EC2 that the catalogue needs.
type API interface {
	DescribeInstanceTypes(context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
	DescribeInstanceTypeOfferings(context.Context, *ec2.DescribeInstanceTypeOfferingsInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error)
}

var _ API = (*ec2.Client)(nil)

// Refresh reads the HVM types for x86_64 and arm64, and the zones of all types, from EC2. It fails
// if EC2 returns none of either. After an error, the earlier types stay in use.
func (c *Catalog) Refresh(ctx context.Context) error {
	var inv Inventory
	errs := parallel.All(ctx,
		func() (err error) { inv.Machines, err = c.machines(ctx); return err },
		func() (err error) { inv.Zones, err = c.zones(ctx); return err })
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	if len(inv.Machines) == 0 || len(inv.Zones) == 0 {
		return fmt.Errorf("list instance types: EC2 returned %d types, and zones of %d", len(inv.Machines), len(inv.Zones))
	}
	old := c.inventory.Load()
	if old != nil && reflect.DeepEqual(old.Inventory, inv) {
		return nil
	}
	next := &stock{Inventory: inv, byName: make(map[string]Machine, len(inv.Machines))}
	if old != nil {
		next.revision = old.revision + 1
	}
	for _, m := range inv.Machines {
		next.byName[m.Name] = m
	}
	c.inventory.Store(next)
	return nil
}

func (c *Catalog) machines(ctx context.Context) ([]Machine, error) {
	pages := ec2.NewDescribeInstanceTypesPaginator(c.api, &ec2.DescribeInstanceTypesInput{
		MaxResults: aws.Int32(100),
		Filters: []ec2types.Filter{
			{Name: aws.String("supported-virtualization-type"), Values: []string{"hvm"}},
			{Name: aws.String("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
		},
	})
	var out []Machine
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe instance types: %w", err)
		}
		for _, t := range page.InstanceTypes {
			if m, ok := fromEC2(t, c.known[string(t.InstanceType)]); ok {
				out = append(out, m)
			}
		}
	}
	slices.SortFunc(out, func(a, b Machine) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func (c *Catalog) zones(ctx context.Context) (map[string][]string, error) {
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(c.api, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: ec2types.LocationTypeAvailabilityZone,
		MaxResults:   aws.Int32(1000),
	})
	out := map[string][]string{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe instance type offerings: %w", err)
		}
		for _, o := range page.InstanceTypeOfferings {
			out[string(o.InstanceType)] = append(out[string(o.InstanceType)], aws.ToString(o.Location))
		}
	}
	for _, zones := range out {
		slices.Sort(zones)
	}
	return out, nil
}
