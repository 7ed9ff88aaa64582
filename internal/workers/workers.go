package workers

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// mostCores is the number of cores at which a controller has its largest number of workers.
const mostCores = 60

// Number returns the number of workers of a controller: min on one core, and max on 60 cores or more. Between these it
// grows linearly, rounded down. A part of a core counts as a whole core.
func Number(cpuMillis int64, min, max int) int {
	cores := int((cpuMillis + 999) / 1000)
	switch {
	case cores <= 1 || max <= min:
		return min
	case cores >= mostCores:
		return max
	}
	return min + (max-min)*(cores-1)/(mostCores-1)
}

// The delays of DefaultLimiter, and the rate and burst of all retries of one controller.
const (
	DefaultBase = 100 * time.Millisecond
	DefaultMax  = time.Minute

	retriesPerSecond = 10
	retriesBurst     = 100
)

// Limiter returns a rate limiter whose delay begins at base, doubles with every failure of the same request and ends at
// max. All requests of the controller together are retried at most ten times per second, after a burst of a hundred. A
// limiter has state, so each controller needs its own.
func Limiter(base, max time.Duration) workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](base, max),
		&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(retriesPerSecond, retriesBurst)},
	)
}

// DefaultLimiter returns the limiter of most controllers, with delays of 100 ms to one minute.
func DefaultLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return Limiter(DefaultBase, DefaultMax)
}
