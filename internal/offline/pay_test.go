package offline

import (
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A list price of the price book is for on-demand offerings only. It makes an offering without a known price available.
func TestListPriceOfThePriceBook(t *testing.T) {
	rules, err := ReadPriceBook("book.yaml", []byte("listPrices: {m8i.large: 0.2}\ndiscounts: [{percent: 10}]\ncommitments: [{name: plan, usdPerHour: 5}]"))
	if err != nil {
		t.Fatal(err)
	}
	var c Catalogue
	c.Pay(rules, nil)
	given := []*model.InstanceType{{Name: "m8i.large", Offerings: []model.Offering{
		{Zone: "a", CapacityType: apiv1.CapacityTypeOnDemand, Unpriced: true},
		{Zone: "b", CapacityType: apiv1.CapacityTypeOnDemand, Price: 0.3}, // not in stock
		{Zone: "a", CapacityType: apiv1.CapacityTypeSpot, Price: 0.05, Available: true},
	}}}
	got := c.priced(given)[0].Offerings
	if o := got[0]; o.Price != 0.18 || !o.Available || o.Unpriced || len(o.Covers) != 1 || o.Covers[0].Use != 200_000 {
		t.Errorf("without a known price: %+v", o)
	}
	if o := got[1]; o.Price != 0.18 || o.Available {
		t.Errorf("not in stock: %+v", o)
	}
	if o := got[2]; o.Price != 0.05 {
		t.Errorf("spot: %+v", o)
	}
	if !given[0].Offerings[0].Unpriced {
		t.Error("the given type is changed")
	}
}
