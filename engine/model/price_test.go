package model_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// The price of a node is that of the offering with its zone, capacity type and reservation, available or not.
func TestPrice(t *testing.T) {
	offering := func(zone, capacityType, reservation string, price float64) model.Offering {
		labels := map[string]string{corev1.LabelTopologyZone: zone, apiv1.CapacityTypeLabelKey: capacityType}
		if reservation != "" {
			labels["example.com/reservation"] = reservation
		}
		return model.Offering{
			Zone: zone, CapacityType: capacityType, ReservationID: reservation, Price: price, Requirements: require.FromLabels(labels),
		}
	}
	unpriced := offering("a", "on-demand", "", 0)
	unpriced.Unpriced = true
	s := model.Compile(model.Delta{Types: map[string][]*model.InstanceType{"p": {
		{Name: "small", Offerings: []model.Offering{offering("a", "spot", "", 1)}},
		{Name: "large", Offerings: []model.Offering{
			offering("a", "spot", "", 2), offering("b", "spot", "", 3), offering("a", "on-demand", "", 4),
			offering("a", "reserved", "r1", 0.1), offering("a", "reserved", "r2", 0.2),
		}},
		{Name: "unpriced", Offerings: []model.Offering{unpriced}},
	}}})
	for _, tt := range []struct {
		name, pool, instanceType, zone, capacityType, reservation string

		price float64
		ok    bool
	}{
		{"spot", "p", "large", "a", "spot", "", 2, true},
		{"spot elsewhere", "p", "large", "b", "spot", "", 3, true},
		{"on demand", "p", "large", "a", "on-demand", "", 4, true},
		{"in a reservation", "p", "large", "a", "reserved", "r2", 0.2, true},
		{"in a reservation that is gone", "p", "large", "a", "reserved", "r3", 0.1, true},
		{"a zone without the type", "p", "small", "b", "spot", "", 0, false},
		{"no capacity type", "p", "small", "a", "", "", 0, false},
		{"an unknown type", "p", "huge", "a", "spot", "", 0, false},
		{"a type without a price", "p", "unpriced", "a", "on-demand", "", 0, false},
		{"another pool", "q", "small", "a", "spot", "", 0, false},
	} {
		n := &model.Node{Pool: tt.pool, Labels: map[string]string{
			corev1.LabelInstanceTypeStable: tt.instanceType, corev1.LabelTopologyZone: tt.zone,
			apiv1.CapacityTypeLabelKey: tt.capacityType, "example.com/reservation": tt.reservation,
		}}
		if price, ok := s.Price(n); price != tt.price || ok != tt.ok {
			t.Errorf("%s: %v, %v; want %v, %v", tt.name, price, ok, tt.price, tt.ok)
		}
	}
}
