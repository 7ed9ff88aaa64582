package report

import "testing"

func TestDollars(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0000", 99.99994: "99.9999", 100: "100.00", 199.999: "200.00", 1234.5: "1,234.50", -150.25: "-150.25", -0.5: "-0.5000",
	} {
		if got := dollars(v); got != want {
			t.Errorf("dollars(%v) = %q, want %q", v, got, want)
		}
	}
}
