package workers

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		name     string
		millis   int64
		min, max int
		want     int
	}{
		{"nothing known", 0, 10, 1000, 10},
		{"one core", 1000, 10, 1000, 10},
		{"part of a second core", 1001, 10, 1000, 26}, // 10 + floor(990/59)
		{"thirty cores", 30_000, 1000, 5000, 2966},    // 1000 + floor(4000*29/59)
		{"sixty cores", 60_000, 10, 1000, 1000},
		{"more than sixty", 96_000, 10, 1000, 1000},
		{"a fixed number", 8000, 10, 10, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Number(tt.millis, tt.min, tt.max); got != tt.want {
				t.Errorf("Number(%d, %d, %d) = %d, want %d", tt.millis, tt.min, tt.max, got, tt.want)
			}
		})
	}
}

// With more CPU, the number of workers is never smaller. It is always between min and max.
func TestWorkersGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		min := rapid.IntRange(1, 1000).Draw(t, "min")
		max := rapid.IntRange(min, 5000).Draw(t, "max")
		millis := rapid.Int64Range(0, 200_000).Draw(t, "millis")
		less, more := Number(millis, min, max), Number(millis+500, min, max)
		if less < min || more > max || less > more {
			t.Fatalf("%d then %d workers, want them within %d and %d and growing", less, more, min, max)
		}
	})
}

func TestLimiter(t *testing.T) {
	limiter := Limiter(time.Second, 3*time.Second)
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}}
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		if got := limiter.When(request); got != want {
			t.Errorf("delay %d is %v, want %v", i, got, want)
		}
	}
	limiter.Forget(request)
	if got := limiter.When(request); got != time.Second {
		t.Errorf("delay after success is %v, want it to begin anew", got)
	}
}

// If many different requests fail at the same time, their retries are delayed together.
func TestLimiterIsSharedByRequests(t *testing.T) {
	limiter := Limiter(time.Millisecond, time.Millisecond)
	var last time.Duration
	for i := range retriesBurst + 50 {
		last = limiter.When(reconcile.Request{NamespacedName: types.NamespacedName{Name: string(rune('a' + i))}})
	}
	if last < time.Second {
		t.Errorf("retry number %d waits %v, want the shared bound to hold it back for seconds", retriesBurst+50, last)
	}
}
