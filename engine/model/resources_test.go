package model

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Requests round up and capacities down, so that rounding never makes a pod fit that does not.
func TestRounding(t *testing.T) {
	for _, tt := range []struct {
		name     corev1.ResourceName
		quantity string
		up, down int64
	}{
		{"cpu", "1500m", 1500, 1500},
		{"cpu", "100u", 1, 0},
		{"memory", "1Gi", 1 << 30, 1 << 30},
		{"memory", "1500m", 2, 1},
		{"nvidia.com/gpu", "2", 2, 2},
	} {
		list := corev1.ResourceList{tt.name: resource.MustParse(tt.quantity)}
		if got := RequestsOf(list)[tt.name]; got != tt.up {
			t.Errorf("RequestsOf(%s %s) = %d, want %d", tt.name, tt.quantity, got, tt.up)
		}
		if got := CapacityOf(list)[tt.name]; got != tt.down {
			t.Errorf("CapacityOf(%s %s) = %d, want %d", tt.name, tt.quantity, got, tt.down)
		}
	}
}

func TestShort(t *testing.T) {
	for _, tt := range []struct {
		want, have Resources
		name       corev1.ResourceName
		by         int64
		short      bool
	}{
		{Resources{"cpu": 1}, Resources{"cpu": 1}, "", 0, false},
		{Resources{"cpu": 2, "memory": 9}, Resources{"cpu": 1}, "cpu", 1, true},
		{Resources{"cpu": 0}, Resources{"cpu": -5}, "", 0, false},
		{Resources{"gpu": 1}, Resources{"gpu": -5}, "gpu", 1, true},
	} {
		name, by, ok := tt.want.Short(tt.have)
		if name != tt.name || by != tt.by || ok != tt.short {
			t.Errorf("%v.Short(%v) = %s %d %v, want %s %d %v", tt.want, tt.have, name, by, ok, tt.name, tt.by, tt.short)
		}
	}
}
