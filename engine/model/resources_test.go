package model

import (
	"math"
	"math/big"
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

// Amounts saturate for each form of a quantity: a plain integer, an exponent and the exact sum of both.
func TestAmountsSaturate(t *testing.T) {
	sum := func(all ...string) resource.Quantity {
		var q resource.Quantity
		for _, text := range all {
			q.Add(resource.MustParse(text))
		}
		return q
	}
	for _, tt := range []struct {
		name corev1.ResourceName
		q    resource.Quantity
		want int64
	}{
		{"cpu", sum("500m", "10P"), MaxAmount},
		{"cpu", sum("5Ei", "1"), MaxAmount},
		{"cpu", sum("9E", "9E", "9E"), MaxAmount},
		{"cpu", sum("9007199254740"), MaxAmount / 1000 * 1000},
		{"memory", sum("9223372036854775807"), MaxAmount},
		{"memory", sum("7Ei", "7Ei"), MaxAmount},
		{"memory", sum("8Pi"), MaxAmount},
		{"memory", *resource.NewQuantity(MaxAmount-1, resource.BinarySI), MaxAmount - 1},
		{"memory", sum("100m"), 1},
		{"memory", sum("-1"), 0},
		{"example.com/dongle", sum("-9E", "-9E"), 0},
	} {
		list := corev1.ResourceList{tt.name: tt.q}
		if got := RequestsOf(list)[tt.name]; got != tt.want {
			t.Errorf("RequestsOf(%s %s) = %d, want %d", tt.name, &tt.q, got, tt.want)
		}
		if got := CapacityOf(list)[tt.name]; got > MaxAmount || got < -MaxAmount || got > tt.want {
			t.Errorf("CapacityOf(%s %s) = %d, want %d at most", tt.name, &tt.q, got, tt.want)
		}
	}
}

func TestArithmeticSaturates(t *testing.T) {
	for _, v := range []int64{math.MinInt64, -MaxAmount, -1, 0, 1, MaxAmount, math.MaxInt64} {
		for _, w := range []int64{math.MinInt64, -MaxAmount, -1, 0, 1, MaxAmount, math.MaxInt64} {
			a, b := Resources{"cpu": v}, Resources{"cpu": w}
			exact := func(x *big.Int) int64 {
				limit := big.NewInt(MaxAmount)
				switch {
				case x.Cmp(limit) > 0:
					return MaxAmount
				case x.Cmp(new(big.Int).Neg(limit)) < 0:
					return -MaxAmount
				}
				return x.Int64()
			}
			x, y := big.NewInt(saturate(v)), big.NewInt(saturate(w))
			if got, want := a.Plus(b)["cpu"], exact(new(big.Int).Add(x, y)); got != want {
				t.Errorf("%d + %d = %d, want %d", v, w, got, want)
			}
			if got, want := a.Minus(b)["cpu"], exact(new(big.Int).Sub(x, y)); got != want {
				t.Errorf("%d - %d = %d, want %d", v, w, got, want)
			}
			if w < 0 {
				continue
			}
			if got, want := a.Times(w)["cpu"], exact(new(big.Int).Mul(x, big.NewInt(w))); got != want {
				t.Errorf("%d * %d = %d, want %d", v, w, got, want)
			}
		}
	}
}
