package launch

import (
	"cmp"
	"math"
	"slices"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Prices has the current prices of instances, in dollars per hour. ok is false if a price is not known.
type Prices interface {
	OnDemand(instanceType string) (dollars float64, ok bool)
	Spot(instanceType, zone string) (dollars float64, ok bool)
}

// reordered reports whether paid orders two on-demand or spot offerings of c otherwise than listed does. EC2 knows the listed
// prices only, so it needs the order of the offerings then, to launch the one that is cheapest by the paid prices.
func (c Choice) reordered(paid, listed Prices) bool {
	type pair struct{ paid, listed float64 }
	var all []pair
	for n, t := range c.Types {
		for _, o := range c.Offers[n] {
			var p pair
			var paidKnown, listedKnown bool
			switch c.CapacityType {
			case apiv1.CapacityTypeOnDemand:
				p.paid, paidKnown = paid.OnDemand(t.Name)
				p.listed, listedKnown = listed.OnDemand(t.Name)
			case apiv1.CapacityTypeSpot:
				p.paid, paidKnown = paid.Spot(t.Name, o.Zone)
				p.listed, listedKnown = listed.Spot(t.Name, o.Zone)
			}
			if paidKnown && listedKnown {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Or(cmp.Compare(a.paid, b.paid), cmp.Compare(a.listed, b.listed)) })
	const rounding = 1 - 1e-9
	cheaper, same := math.Inf(-1), math.Inf(-1) // the highest listed price of offerings with a lower paid price, and with one that is not higher
	for i, p := range all {
		if i > 0 && p.paid*rounding > all[i-1].paid {
			cheaper = same
		}
		if p.listed < cheaper*rounding {
			return true
		}
		same = max(same, p.listed)
	}
	return false
}
