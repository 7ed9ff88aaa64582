package launch

import (
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// table is Prices by instance type, and for spot by type and zone.
type table map[string]float64

func (t table) OnDemand(instanceType string) (float64, bool) {
	p, ok := t[instanceType]
	return p, ok
}

func (t table) Spot(instanceType, zone string) (float64, bool) {
	p, ok := t[instanceType+"/"+zone]
	return p, ok
}

// EC2 gets the order of the offerings if and only if its own prices have another one.
func TestReordered(t *testing.T) {
	for _, tt := range []struct {
		name         string
		spot         bool
		paid, listed table
		want         bool
	}{
		{name: "list prices", paid: table{"a": 1, "b": 2}, listed: table{"a": 1, "b": 2}},
		{name: "a discount for all", paid: table{"a": 0.93, "b": 1.86, "c": 1.86}, listed: table{"a": 1, "b": 2, "c": 2}},
		{name: "a fee that changes no order", paid: table{"a": 1.5, "b": 2.5}, listed: table{"a": 1, "b": 2}},
		{name: "a discount for the dearer one", paid: table{"a": 1, "b": 0.8}, listed: table{"a": 1, "b": 2}, want: true},
		{name: "a discount that makes both equal", paid: table{"a": 1, "b": 1}, listed: table{"a": 1, "b": 2}},
		{name: "equal ones between two others", paid: table{"a": 1, "b": 1, "c": 2}, listed: table{"a": 1, "b": 3, "c": 2}, want: true},
		{name: "rounding", paid: table{"a": 0.1 + 0.2, "b": 0.3}, listed: table{"a": 0.3, "b": 0.1 + 0.2}},
		{name: "unknown price", paid: table{"a": 1, "b": 0.5}, listed: table{"a": 1}},
		{name: "spot in two zones", spot: true, paid: table{"a/1": 1, "a/2": 2, "b/1": 3, "b/2": 0.5}, listed: table{"a/1": 1, "a/2": 2, "b/1": 3, "b/2": 4}, want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Choice{CapacityType: apiv1.CapacityTypeOnDemand}
			zones := []model.Offering{{Zone: "1"}, {Zone: "2"}}
			if tt.spot {
				c.CapacityType = apiv1.CapacityTypeSpot
			}
			for _, name := range []string{"a", "b", "c"} {
				c.Types, c.Offers = append(c.Types, &model.InstanceType{Name: name}), append(c.Offers, zones)
			}
			if got := c.reordered(tt.paid, tt.listed); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}
