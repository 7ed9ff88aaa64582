package report

import (
	"math"
	"strings"
	"testing"
)

func TestDollars(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0000", 99.99994: "99.9999", 100: "100.00", 199.999: "200.00", 1234.5: "1,234.50", -150.25: "-150.25", -0.5: "-0.5000",
		9e13: "90,000,000,000,000.00", 1e20: "1e+20", -1.2346e18: "-1.23e+18", math.Inf(1): "+Inf",
	} {
		if got := dollars(v); got != want {
			t.Errorf("dollars(%v) = %q, want %q", v, got, want)
		}
	}
}

// The price of a month is a sum without cents. It is legible even if the price is a mistake.
func TestMoney(t *testing.T) {
	for price, want := range map[float64]string{1: "$1.0000/h, about $730 a month", 1e20: "$1e+20/h, about $7.3e+22 a month"} {
		if got := (Style{}).Money(price, 0); !strings.HasSuffix(got, want) {
			t.Errorf("price %v: %q, want %q", price, got, want)
		}
	}
}
