package view

import (
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Prices has the prices of nodes by their instance types. In the zero value, no price is known.
type Prices struct {
	pools map[string]map[string]*model.InstanceType
	// edition identifies the instance types from which the prices were computed.
	edition *edition
}

type edition struct{ _ byte }

// PricesOf returns the prices of instance types by NodePool.
func PricesOf(types map[string][]*model.InstanceType) Prices {
	p := Prices{pools: make(map[string]map[string]*model.InstanceType, len(types)), edition: new(edition)}
	for pool, list := range types {
		byName := make(map[string]*model.InstanceType, len(list))
		for _, t := range list {
			byName[t.Name] = t
		}
		p.pools[pool] = byName
	}
	return p
}

// A Price has the price of a node in dollars per hour, and its on-demand price. Both are nil if the price is not known.
// List equals Own if the type is not sold on demand.
type Price struct{ Own, List *float64 }

// same reports whether both prices are equal.
func (p Price) same(q Price) bool { return equal(p.Own, q.Own) && equal(p.List, q.List) }

func equal(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Of returns the price of the node.
func (p Prices) Of(n *model.Node) Price {
	t := p.pools[n.Pool][n.Labels[corev1.LabelInstanceTypeStable]]
	if t == nil {
		return Price{}
	}
	o := t.OfferingOf(n)
	if o == nil || o.Unpriced {
		return Price{}
	}
	own := o.Price
	list := own
	if o.CapacityType != apiv1.CapacityTypeOnDemand {
		if demand, ok := onDemand(t, o.Zone); ok {
			list = demand
		}
	}
	return Price{Own: &own, List: &list}
}

// onDemand returns the on-demand price of the type in the zone. If there is none, it returns the lowest one of the other
// zones.
func onDemand(t *model.InstanceType, zone string) (price float64, ok bool) {
	for _, o := range t.Offerings {
		switch {
		case o.CapacityType != apiv1.CapacityTypeOnDemand || o.Unpriced:
		case o.Zone == zone:
			return o.Price, true
		case !ok || o.Price < price:
			price, ok = o.Price, true
		}
	}
	return price, ok
}
