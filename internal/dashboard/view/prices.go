package view

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Prices has the prices of the nodes of a snapshot. In the zero value, no price is known.
type Prices struct {
	snapshot *model.Snapshot
	typesAt  time.Time
}

// PricesOf returns the prices of the nodes of s. typesAt is when the instance types of s were listed.
func PricesOf(s *model.Snapshot, typesAt time.Time) Prices { return Prices{s, typesAt} }

// A Price has the price of a node in dollars per hour. Own is less what commitments cover. List is the on-demand price. If the type
// is not sold on demand, it is the price of the node's capacity type. Both are nil if the price is not known.
type Price struct{ Own, List *float64 }

// same reports whether both prices are equal.
func (p Price) same(q Price) bool { return equal(p.Own, q.Own) && equal(p.List, q.List) }

func equal(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Of returns the price of the node, which is in the snapshot.
func (p Prices) Of(n *model.Node) Price {
	if p.snapshot == nil {
		return Price{}
	}
	t := model.TypeNamed(p.snapshot.Types(n.Pool), n.Labels[corev1.LabelInstanceTypeStable])
	if t == nil {
		return Price{}
	}
	o := t.OfferingOf(n)
	if o == nil || o.Unpriced {
		return Price{}
	}
	own, list := p.snapshot.PriceOf(n), o.Price
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
