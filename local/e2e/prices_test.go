package e2e

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// ec2Type returns the facts of EC2 about a type.
func ec2Type(t *testing.T, name string) *catalog.Type {
	t.Helper()
	sold, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	kind, ok := sold.Type(name)
	if !ok {
		t.Fatalf("EC2 sells no %s", name)
	}
	return kind
}

// A priced is a type with its on-demand price in dollars per hour.
type priced struct {
	name  string
	price float64
}

// cheapest returns the cheapest type of a family in the cluster's region with more than the given numbers of vCPUs and GiB of
// memory.
func cheapest(t *testing.T, family string, vCPUs, gib int) priced {
	t.Helper()
	list := byPrice(t, family)
	i := slices.IndexFunc(list, func(p priced) bool {
		kind := ec2Type(t, p.name)
		return kind.VCPU > vCPUs && kind.MemoryMiB > gib*1024
	})
	if i < 0 {
		t.Fatalf("EC2 sells no %s with more than %d vCPUs and %d GiB", family, vCPUs, gib)
	}
	return list[i]
}

// byPrice returns the types of a family that are offered in the cluster's region, cheapest first.
func byPrice(t *testing.T, family string) []priced {
	t.Helper()
	sold, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	region, ok := sold.Region(cluster.Region)
	if !ok {
		t.Fatalf("EC2 has no region %s", cluster.Region)
	}
	var list []priced
	for name, offer := range region.Offers {
		if strings.HasPrefix(name, family+".") && offer.OnDemand > 0 {
			list = append(list, priced{name, offer.OnDemand})
		}
	}
	slices.SortFunc(list, func(a, b priced) int {
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.name, b.name))
	})
	return list
}
