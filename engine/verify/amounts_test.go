package verify

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// amountsOf, add and subtract return amounts between -ceiling and ceiling, however large the quantities are.
func TestAmountsSaturate(t *testing.T) {
	for _, text := range []string{"10P", "9E", "8Ei", "9223372036854775807", "1"} {
		q := resource.MustParse(text)
		q.Add(resource.MustParse("500m")) // the sum of two containers may be exact beyond 64 bits
		got := amountsOf(corev1.ResourceList{"cpu": q, "memory": q})
		for name, v := range got {
			if small := text == "1"; v < 0 || v > ceiling || !small && name == "cpu" && v != ceiling {
				t.Errorf("%s of %s is %d", text, name, v)
			}
		}
		for range 2000 {
			got.add(amounts{"cpu": math.MaxInt64, "memory": ceiling})
		}
		if got["cpu"] != ceiling || got["memory"] != ceiling {
			t.Errorf("sums with %s are %v, want %d", text, got, ceiling)
		}
		for range 2000 {
			got.subtract(amounts{"cpu": math.MaxInt64})
		}
		if got["cpu"] != -ceiling {
			t.Errorf("the difference is %d, want %d", got["cpu"], -ceiling)
		}
	}
}
